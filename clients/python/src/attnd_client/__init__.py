"""Client of attnd. Client and AsyncClient have the same methods; README.md has examples."""

from .aio import AsyncClient
from .client import Client
from .errors import (AttndError, AuthError, Busy, Conflict, NotFound, ServerError, TooLarge, Unusable)
from .types import Answer, Explain, Feedback, Input, Model, Neighbour, Options, Problem, Ranked, Result

__all__ = ["Answer", "AsyncClient", "AttndError", "AuthError", "Busy", "Client", "Conflict", "Explain", "Feedback",
           "Input", "Model", "Neighbour", "NotFound", "Options", "Problem", "Ranked", "Result", "ServerError", "TooLarge",
           "Unusable"]
