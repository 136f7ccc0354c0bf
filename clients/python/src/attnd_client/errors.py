"""Refusals as exceptions, by their status. What they have is the problem document of the server (RFC 9457)."""

import json
from typing import Any, Mapping, Optional


class AttndError(Exception):
    """A refusal: status, title, detail, error_type, and all of the document in `problem`."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.title: str = str(problem.get("title", "HTTP error"))
        self.error_type: Optional[str] = problem.get("error_type")
        said = problem.get("error")
        message = said.get("message") if isinstance(said, dict) else said
        self.detail: str = str(problem.get("detail") or message or "")
        super().__init__(f"{status} {self.title}: {self.detail}")


class AuthError(AttndError):
    """401, 403: no valid key, or one without the scope."""


class NotFound(AttndError):
    """404: no such model, id or path."""


class Conflict(AttndError):
    """409: the state of the server forbids it."""


class TooLarge(AttndError):
    """413: more bytes, inputs or tokens than the server takes."""


class Unusable(AttndError):
    """400, 415, 422: what was sent cannot be used."""


class Busy(AttndError):
    """429, 503: still busy or not ready after the last try."""


class ServerError(AttndError):
    """Any other status."""


_KINDS = {400: Unusable, 401: AuthError, 403: AuthError, 404: NotFound, 409: Conflict, 413: TooLarge, 415: Unusable,
          422: Unusable, 429: Busy, 503: Busy}


def error_of(status: int, body: bytes) -> AttndError:
    """The exception for a reply."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": body.decode(errors="replace")[:200]}
    return _KINDS.get(status, ServerError)(status, problem)
