"""What both clients do, without input and output: a flow is a generator that yields what is to be done (Send,
Open, Line, Wait, Give) and gets what came of it. client.py and aio.py run flows; nothing else differs."""

import base64
import json
import random
import struct
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Dict, Generator, Iterable, List, Mapping, Optional, Tuple, TypeVar, Union

import httpx

from .errors import error_of
from .types import Answer, Input, Model, Neighbour, Ranked, Result

T = TypeVar("T")
Flow = Generator[Any, Any, T]
LINES_MAX = 4096  # of one request, so that a connection that breaks costs no more
BYTES_MAX = 8 << 20
AGAIN = (409, 429, 503)  # 409 only with Retry-After: another one is no matter of time
LINES_TYPE = "application/x-ndjson"


@dataclass
class Send:
    """-> httpx.Response, read."""

    request: Dict[str, Any]


@dataclass
class Open:
    """-> httpx.Response; if it is a success, its lines are to be read, and it is closed behind the last one."""

    request: Dict[str, Any]


@dataclass
class Line:
    """-> str of the reply that was opened, or None behind its last one."""


@dataclass
class Wait:
    seconds: float


@dataclass
class Give:
    """To the caller of a method that yields."""

    value: Any


@dataclass(frozen=True)
class Retry:
    tries: int = 5
    wait_max: float = 60.0

    def wait(self, failed: int, told: Optional[str] = None) -> float:
        """Seconds after so many failures: as told, else doubling from 0.5, with a random part."""
        seconds = float(told) if told is not None and told.isdigit() else 0.5 * 2**failed * random.uniform(0.75, 1.25)
        return min(seconds, self.wait_max)


def _is_passing(reply: httpx.Response) -> bool:
    return reply.status_code in AGAIN and (reply.status_code != 409 or "Retry-After" in reply.headers)


def ask(retry: Retry, request: Dict[str, Any], is_safe: bool = True) -> Flow[httpx.Response]:
    """A reply of 2xx. is_safe: the request may be sent again if no answer came."""
    for failed in range(retry.tries):
        is_last = failed == retry.tries - 1
        try:
            reply: httpx.Response = yield Send(request)
        except httpx.TransportError as broken:
            if is_last or not (is_safe or isinstance(broken, httpx.ConnectError)):
                raise
            yield Wait(retry.wait(failed))
            continue
        if reply.is_success:
            return reply
        if is_last or not _is_passing(reply):
            raise error_of(reply.status_code, reply.content)
        yield Wait(retry.wait(failed, reply.headers.get("Retry-After")))
    raise ValueError("tries: at least 1")


def result_of(flow: Flow[Any]) -> Flow[None]:
    """Gives what the flow returns."""
    value = yield from flow
    yield Give(value)


# ---- inputs and options ----


def input_of(given: Input) -> Dict[str, Any]:
    """An element of `inputs`."""
    if isinstance(given, str):
        return {"text": given}
    if isinstance(given, PathLike):
        with open(fspath(given), "rb") as file:
            given = file.read()
    if isinstance(given, (bytes, bytearray, memoryview)):
        return {"image": base64.b64encode(given).decode()}
    return dict(given)


def query_of(options: Mapping[str, Any]) -> List[Tuple[str, str]]:
    """Options as a query has them."""
    query: List[Tuple[str, str]] = []
    for name, value in options.items():
        if name == "context":
            query += [(f"context.{key}", str(member)) for key, member in value.items()]
        elif isinstance(value, (list, tuple)):
            query.append((name, json.dumps(list(value))))
        elif value is not None:
            query.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return query


def named(**options: Any) -> Dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def post(path: str, body: Any, **more: Any) -> Dict[str, Any]:
    return {"method": "POST", "url": path, "json": body, **more}


def _with_key(idempotency_key: Optional[str]) -> Dict[str, str]:
    return {"Idempotency-Key": idempotency_key} if idempotency_key is not None else {}


# ---- the methods ----


def predict(retry: Retry, given: Input, options: Mapping[str, Any], key: Optional[str]) -> Flow[Answer]:
    request = post("/predict", {**input_of(given), **options}, headers=_with_key(key))
    reply = yield from ask(retry, request)
    found: Answer = reply.json()
    return found


def predict_lot(retry: Retry, given: Union[bytes, "PathLike[str]"], options: Mapping[str, Any]) -> Flow[List[Result]]:
    if isinstance(given, PathLike):
        with open(fspath(given), "rb") as file:
            given = file.read()
    reply = yield from ask(retry, {"method": "POST", "url": "/predict", "content": given, "params": query_of(options),
                                   "headers": {"Content-Type": "application/x-stdf"}})
    found: List[Result] = reply.json()["results"]
    return found


def models(retry: Retry) -> Flow[List[Model]]:
    reply = yield from ask(retry, {"method": "GET", "url": "/models"})
    found: List[Model] = reply.json()["models"]
    return found


def _inputs_max(retry: Retry) -> Flow[int]:
    served = yield from models(retry)
    return max(1, min((model.get("inputs_max", 64) for model in served), default=64))


def _pieces(items: Iterable[T], most: int) -> Generator[List[T], None, None]:
    piece: List[T] = []
    for item in items:
        piece.append(item)
        if len(piece) == most:
            yield piece
            piece = []
    if piece:
        yield piece


def predict_many(retry: Retry, given: Iterable[Input], options: Mapping[str, Any]) -> Flow[List[Result]]:
    results: List[Result] = []
    most = yield from _inputs_max(retry)
    for piece in _pieces(given, most):
        reply = yield from ask(retry, post("/predict", {"inputs": [input_of(one) for one in piece], **options}))
        results += reply.json()["results"]
    return results


def embed(retry: Retry, texts: Iterable[str], options: Mapping[str, Any]) -> Flow[List[List[float]]]:
    vectors: List[List[float]] = []
    most = yield from _inputs_max(retry)
    for piece in _pieces(texts, most):
        reply = yield from ask(retry, post("/v1/embeddings", {"input": piece, "encoding_format": "base64", **options}))
        for row in reply.json()["data"]:
            raw = base64.b64decode(row["embedding"])
            vectors.append(list(struct.unpack(f"<{len(raw) // 4}f", raw)))
    return vectors


def rerank(retry: Retry, query: str, documents: Iterable[str], top_n: Optional[int],
           options: Mapping[str, Any]) -> Flow[List[Ranked]]:
    """A score depends on its document alone, so documents may be of several requests."""
    ranked: List[Ranked] = []
    first = 0
    most = yield from _inputs_max(retry)
    for piece in _pieces(documents, most):
        reply = yield from ask(retry, post("/v1/rerank", {"query": query, "documents": piece, **options}))
        ranked += [{"index": first + row["index"], "score": row["relevance_score"]} for row in reply.json()["results"]]
        first += len(piece)
    ranked.sort(key=lambda row: (-row["score"], row["index"]))
    return ranked[:top_n]


def similar(retry: Retry, given: Input, options: Mapping[str, Any]) -> Flow[List[Neighbour]]:
    reply = yield from ask(retry, post("/similar", {**input_of(given), **options}))
    found: List[Neighbour] = reply.json()["neighbours"]
    return found


def feedback(retry: Retry, body: Mapping[str, Any]) -> Flow[List[Any]]:
    reply = yield from ask(retry, post("/feedback", body), is_safe=False)
    found: List[Any] = reply.json()["results"]
    return found


def is_ready(retry: Retry) -> Flow[bool]:
    """Asks once."""
    try:
        reply = yield Send({"method": "GET", "url": "/readyz"})
    except httpx.TransportError:
        return False
    return bool(reply.is_success)


# ---- lines ----


def _batches(given: Iterable[Input]) -> Generator[Dict[int, str], None, None]:
    """Lines by their index, so many as one request should have."""
    batch: Dict[int, str] = {}
    size = 0
    for index, one in enumerate(given):
        line = json.dumps(input_of(one))
        if batch and (len(batch) == LINES_MAX or size + len(line) > BYTES_MAX):
            yield batch
            batch, size = {}, 0
        batch[index] = line
        size += len(line) + 1
    if batch:
        yield batch


def _read_lines(sent: List[int], left: Dict[int, str], is_last: bool) -> Flow[None]:
    """Gives each answer, and takes its line out of `left`; lines of a busy server stay there."""
    while True:
        text = yield Line()
        if text is None:
            return
        answer = json.loads(text)
        answer["index"] = sent[answer["index"]]
        if is_last or answer.get("status") not in (429, 503):
            del left[answer["index"]]
            yield Give(answer)


def _ask_lines(retry: Retry, left: Dict[int, str], options: Mapping[str, Any]) -> Flow[None]:
    failed = 0
    while left:
        before, told, sent = len(left), None, list(left)
        is_last = failed >= retry.tries - 1
        request = {"method": "POST", "url": "/predict", "content": "\n".join(left.values()).encode(),
                   "params": query_of(options), "headers": {"Content-Type": LINES_TYPE, "Accept": LINES_TYPE}}
        try:
            reply: httpx.Response = yield Open(request)
            if reply.is_success:
                yield from _read_lines(sent, left, is_last)
            elif is_last or not _is_passing(reply):
                raise error_of(reply.status_code, reply.content)
            told = reply.headers.get("Retry-After")
        except httpx.TransportError:
            if is_last:
                raise
        if left and is_last:
            raise httpx.RemoteProtocolError("the server ended the list before its last answer")
        failed = 0 if len(left) < before else failed + 1
        if left:
            yield Wait(retry.wait(failed, told))


def predict_lines(retry: Retry, given: Iterable[Input], options: Mapping[str, Any]) -> Flow[None]:
    for batch in _batches(given):
        yield from _ask_lines(retry, batch, options)
