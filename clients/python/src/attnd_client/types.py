"""Shapes of what is sent and answered. A server may add members: pass over those that you do not know."""

from os import PathLike
from typing import Any, List, Mapping, Optional, TypedDict, Union

#: A text; a picture's bytes or pathlib.Path; or an object as in `inputs` ({"text", "question", "id", ...}).
Input = Union[str, bytes, "PathLike[str]", Mapping[str, Any]]
Explain = Union[bool, str]


class Options(TypedDict, total=False):
    """Options of a prediction; docs/api.md describes them."""

    model: str
    top_k: Union[int, str]
    id: Union[str, int]
    context: Mapping[str, Union[str, float]]
    deadline_ms: int
    explain: Explain
    explain_layer: int
    overlay: bool
    attention_stats: bool
    long_text: str
    prompt_name: str
    candidate_labels: List[str]
    hypothesis_template: str
    keep: bool
    similar: int
    aggregation: str
    dimensions: int
    normalize: bool
    encoding: str
    chunks: str
    max_answer_len: int
    max_seq_len: int
    doc_stride: int
    handle_impossible_answer: bool
    align_to_words: bool
    max_new_tokens: int
    min_new_tokens: int
    num_beams: int
    num_return_sequences: int
    no_repeat_ngram_size: int
    length_penalty: float
    source_language: str
    target_language: str
    pattern: str
    allowed: List[str]
    copy_numbers: bool
    checksum: str


class Problem(TypedDict, total=False):
    """What became of one of several inputs that cannot be answered; it has an error_type."""

    index: int
    id: str
    status: int
    title: str
    detail: str
    error_type: str


class Result(Problem, total=False):
    """The answer to one of several inputs, or its Problem."""

    model: Mapping[str, Any]
    label: str
    score: float
    decision: str
    reason: str
    predictions: List[Mapping[str, Any]]
    value: float
    values: Mapping[str, float]
    embedding: Union[List[float], str]
    dimensions: int
    spans: List[Mapping[str, Any]]
    answer: Mapping[str, Any]
    answers: List[Mapping[str, Any]]
    chunks: List[Mapping[str, Any]]
    sparse: List[Mapping[str, Any]]
    output: Optional[str]
    confidence: float
    alternatives: List[Mapping[str, Any]]
    broken_rule: str
    rejected: Mapping[str, Any]
    alignment: List[Mapping[str, Any]]
    neighbours: List[Mapping[str, Any]]
    explanation: Mapping[str, Any]
    context: Mapping[str, Any]


class Answer(Result, total=False):
    """The answer to a request."""

    timing_ms: Mapping[str, float]


class Neighbour(TypedDict):
    """A past case of an index: the higher its score, the nearer; label and source are None if they are not known."""

    id: str
    label: Optional[str]
    score: float
    source: Optional[str]


class Ranked(TypedDict):
    """A document's index and how well it fits the query."""

    index: int
    score: float


class Feedback(TypedDict, total=False):
    """The right label of a prediction: id and label, or of a text output; index of an element of inputs or of a line."""

    id: str
    label: str
    output: str
    index: int
    source: str
    new: bool


class Model(TypedDict, total=False):
    """A model that is served, as GET /models describes it."""

    name: str
    version: str
    kind: str
    task: str
    default: bool
    labels: List[str]
    inputs_max: int
    body_bytes_max: int
