"""The asynchronous client."""

from __future__ import annotations

import asyncio
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, List, Optional, Sequence, Type, TypeVar, Union

import httpx

from . import flows
from .types import Answer, Feedback, Input, Model, Neighbour, Options, Ranked, Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


async def anext_or_none(lines: AsyncIterator[str]) -> Optional[str]:
    async for line in lines:
        return line
    return None


class AsyncClient:
    """Asks one server. Close it, or use it in `async with`. `options` are those of types.Options, by name.

    url      "http://127.0.0.1:8080"
    key      sent as Authorization: Bearer; None: none
    timeout  seconds without a byte; a list of lines may take longer as a whole
    tries, wait_max  how a busy server is asked again (README.md)
    verify   as httpx has it: the path of the authority's PEM file, or an ssl.SSLContext
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", key: Optional[str] = None, *, timeout: float = 30.0,
                 tries: int = 5, wait_max: float = 60.0, verify: Any = True,
                 transport: Optional[httpx.AsyncBaseTransport] = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        self._retry = flows.Retry(tries, wait_max)
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, verify=verify, transport=transport)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.aclose()

    async def _each(self, flow: flows.Flow[Any]) -> AsyncIterator[Any]:
        """Runs a flow and yields what it gives; a step that fails raises in the flow."""
        opened: Optional[httpx.Response] = None
        lines: Any = None
        came: Any = None
        broken: Optional[Exception] = None
        try:
            while True:
                try:
                    step = flow.send(came) if broken is None else flow.throw(broken)
                except StopIteration:
                    return
                came, broken = None, None
                try:
                    if isinstance(step, flows.Give):
                        yield step.value
                    elif isinstance(step, flows.Send):
                        came = await self._http.request(**step.request)
                    elif isinstance(step, flows.Open):
                        came = opened = await self._http.send(self._http.build_request(**step.request), stream=True)
                        if not opened.is_success:
                            await opened.aread()
                        lines = opened.aiter_lines()
                    elif isinstance(step, flows.Line):
                        came = await anext_or_none(lines)
                    else:
                        await asyncio.sleep(step.seconds)
                except httpx.TransportError as error:
                    broken = error
                if opened is not None and isinstance(step, flows.Line) and came is None:
                    await opened.aclose()
        finally:
            if opened is not None:
                await opened.aclose()

    async def _run(self, flow: flows.Flow[T]) -> T:
        results: List[T] = [value async for value in self._each(flows.result_of(flow))]
        return results[0]

    async def predict(self, given: Input, *, idempotency_key: Optional[str] = None, **options: "Unpack[Options]") -> Answer:
        """The answer to a text (str), a picture (its pathlib.Path, or bytes) or an object as in `inputs`."""
        return await self._run(flows.predict(self._retry, given, options, idempotency_key))

    async def predict_many(self, given: Iterable[Input], **options: "Unpack[Options]") -> List[Result]:
        """Answers in order, by requests of as many inputs as the server takes; a refused input is a problem."""
        return await self._run(flows.predict_many(self._retry, given, options))

    def predict_lines(self, given: Iterable[Input], **options: "Unpack[Options]") -> AsyncIterator[Result]:
        """Yields each answer, with its index, as it comes; for lists of any length."""
        return self._each(flows.predict_lines(self._retry, given, options))

    async def predict_lot(self, given: "Union[bytes, PathLike[str]]", **options: "Unpack[Options]") -> List[Result]:
        """One result for each wafer of an STDF file."""
        return await self._run(flows.predict_lot(self._retry, given, options))

    async def embed(self, texts: Union[str, Iterable[str]], *, model: Optional[str] = None,
              dimensions: Optional[int] = None, prompt_name: Optional[str] = None,
              truncate: bool = False) -> List[List[float]]:
        """A vector for each text. A text that is too long is refused, unless `truncate`."""
        return await self._run(flows.embed(self._retry, [texts] if isinstance(texts, str) else texts, flows.named(
            model=model, dimensions=dimensions, prompt_name=prompt_name, truncate=truncate or None)))

    async def rerank(self, query: str, documents: Iterable[str], *, model: Optional[str] = None,
               top_n: Optional[int] = None) -> List[Ranked]:
        """Documents by how well they fit the query, the best first."""
        return await self._run(flows.rerank(self._retry, query, documents, top_n, flows.named(model=model)))

    async def similar(self, given: Input, *, k: int = 5, model: Optional[str] = None,
                      prompt_name: Optional[str] = None, long_text: Optional[str] = None) -> List[Neighbour]:
        """The k nearest past cases of the model's index, the nearest first."""
        return await self._run(flows.similar(self._retry, given, flows.named(
            k=k, model=model, prompt_name=prompt_name, long_text=long_text)))

    async def feedback(self, id: str, label: Optional[str] = None, *, output: Optional[str] = None,
                 index: Optional[int] = None, source: Optional[str] = None, new: Optional[bool] = None) -> Feedback:
        """Tells the right label of a prediction, or of a text the right `output`."""
        label_of = flows.named(id=id, label=label, output=output, index=index, source=source, new=new)
        reply: Feedback = (await self._run(flows.feedback(self._retry, label_of)))[0]
        return reply

    async def feedback_many(self, labels: Sequence[Feedback]) -> List[Any]:
        """At most `inputs_max` labels; one that cannot be taken is a problem in its place."""
        return await self._run(flows.feedback(self._retry, {"feedback": list(labels)}))

    async def models(self) -> List[Model]:
        return await self._run(flows.models(self._retry))

    async def ready(self) -> bool:
        """Whether the server answers and its models are warm; asks once."""
        return await self._run(flows.is_ready(self._retry))
