"""The error of a request that is refused, with its HTTP status."""

from __future__ import annotations

from numerate.errors import NumerateError

__all__ = ["INTERNAL", "Refusal"]

INTERNAL = "internal error; the log of the service says where"
"""All that a client is told about a fault of the service: the message of an error may quote other requests."""


class Refusal(NumerateError, RuntimeError):  # noqa: N818 (it names what the client gets)
    """A request that is answered with an error status and one line.

    Args:
        status: HTTP status.
        message: One line for the client.
        retry_after: Seconds after which it may be sent again.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the status."""
        found = {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        return found if self.retry_after is None else found | {"Retry-After": str(self.retry_after)}
