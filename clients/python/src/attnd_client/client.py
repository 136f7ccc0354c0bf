"""The synchronous client."""

from __future__ import annotations

import time
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Iterator, Iterable, List, Optional, Sequence, Type, TypeVar, Union

import httpx

from . import flows
from .types import Answer, Feedback, Input, Model, Neighbour, Options, Ranked, Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class Client:
    """Asks one server. Close it, or use it in `with`. `options` are those of types.Options, by name.

    url      "http://127.0.0.1:8080"
    key      sent as Authorization: Bearer; None: none
    timeout  seconds without a byte; a list of lines may take longer as a whole
    tries, wait_max  how a busy server is asked again (README.md)
    verify   as httpx has it: the path of the authority's PEM file, or an ssl.SSLContext
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", key: Optional[str] = None, *, timeout: float = 30.0,
                 tries: int = 5, wait_max: float = 60.0, verify: Any = True,
                 transport: Optional[httpx.BaseTransport] = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        self._retry = flows.Retry(tries, wait_max)
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, verify=verify, transport=transport)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def _each(self, flow: flows.Flow[Any]) -> Iterator[Any]:
        """Runs a flow and yields what it gives; a step that fails raises in the flow."""
        opened: Optional[httpx.Response] = None
        lines: Iterator[str] = iter(())
        came: Any = None
        broken: Optional[Exception] = None
        try:
            while True:
                step = flow.send(came) if broken is None else flow.throw(broken)
                came, broken = None, None
                try:
                    if isinstance(step, flows.Give):
                        yield step.value
                    elif isinstance(step, flows.Send):
                        came = self._http.request(**step.request)
                    elif isinstance(step, flows.Open):
                        came = opened = self._http.send(self._http.build_request(**step.request), stream=True)
                        if not opened.is_success:
                            opened.read()
                        lines = opened.iter_lines()
                    elif isinstance(step, flows.Line):
                        came = next(lines, None)
                    else:
                        time.sleep(step.seconds)
                except httpx.TransportError as error:
                    broken = error
                if opened is not None and isinstance(step, flows.Line) and came is None:
                    opened.close()
        except StopIteration:
            return
        finally:
            if opened is not None:
                opened.close()

    def _run(self, flow: flows.Flow[T]) -> T:
        results: List[T] = list(self._each(flows.result_of(flow)))
        return results[0]

    def predict(self, given: Input, *, idempotency_key: Optional[str] = None, **options: "Unpack[Options]") -> Answer:
        """The answer to a text (str), a picture (its pathlib.Path, or bytes) or an object as in `inputs`."""
        return self._run(flows.predict(self._retry, given, options, idempotency_key))

    def predict_many(self, given: Iterable[Input], **options: "Unpack[Options]") -> List[Result]:
        """Answers in order, by requests of as many inputs as the server takes; a refused input is a problem."""
        return self._run(flows.predict_many(self._retry, given, options))

    def predict_lines(self, given: Iterable[Input], **options: "Unpack[Options]") -> Iterator[Result]:
        """Yields each answer, with its index, as it comes; for lists of any length."""
        return self._each(flows.predict_lines(self._retry, given, options))

    def predict_lot(self, given: "Union[bytes, PathLike[str]]", **options: "Unpack[Options]") -> List[Result]:
        """One result for each wafer of an STDF file."""
        return self._run(flows.predict_lot(self._retry, given, options))

    def embed(self, texts: Union[str, Iterable[str]], *, model: Optional[str] = None,
              dimensions: Optional[int] = None, prompt_name: Optional[str] = None,
              truncate: bool = False) -> List[List[float]]:
        """A vector for each text. A text that is too long is refused, unless `truncate`."""
        return self._run(flows.embed(self._retry, [texts] if isinstance(texts, str) else texts, flows.named(
            model=model, dimensions=dimensions, prompt_name=prompt_name, truncate=truncate or None)))

    def rerank(self, query: str, documents: Iterable[str], *, model: Optional[str] = None,
               top_n: Optional[int] = None) -> List[Ranked]:
        """Documents by how well they fit the query, the best first."""
        return self._run(flows.rerank(self._retry, query, documents, top_n, flows.named(model=model)))

    def similar(self, given: Input, *, k: int = 5, model: Optional[str] = None,
                prompt_name: Optional[str] = None, long_text: Optional[str] = None) -> List[Neighbour]:
        """The k nearest past cases of the model's index, the nearest first."""
        return self._run(flows.similar(self._retry, given, flows.named(
            k=k, model=model, prompt_name=prompt_name, long_text=long_text)))

    def feedback(self, id: str, label: Optional[str] = None, *, output: Optional[str] = None,
                 index: Optional[int] = None, source: Optional[str] = None, new: Optional[bool] = None) -> Feedback:
        """Tells the right label of a prediction, or of a text the right `output`."""
        label_of = flows.named(id=id, label=label, output=output, index=index, source=source, new=new)
        reply: Feedback = (self._run(flows.feedback(self._retry, label_of)))[0]
        return reply

    def feedback_many(self, labels: Sequence[Feedback]) -> List[Any]:
        """At most `inputs_max` labels; one that cannot be taken is a problem in its place."""
        return self._run(flows.feedback(self._retry, {"feedback": list(labels)}))

    def models(self) -> List[Model]:
        return self._run(flows.models(self._retry))

    def ready(self) -> bool:
        """Whether the server answers and its models are warm; asks once."""
        return self._run(flows.is_ready(self._retry))
