"""The outer layer of the service (plain ASGI): token, size, overload, time limit, metrics, and what is logged.

A body is read whole before anything else runs, up to the limit: no handler ever sees more.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
import traceback
from typing import TYPE_CHECKING, Any

from numerate.apps.serving.metrics import ENDPOINTS, Metrics
from numerate.apps.serving.refusals import INTERNAL, Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from numerate.apps.serving.settings import ServeSettings

    Send = Callable[[dict[str, Any]], Awaitable[None]]
    Receive = Callable[[], Awaitable[dict[str, Any]]]

__all__ = ["Guard"]

log = logging.getLogger("numerate.serve")

WORK = ("/find", "/fill", "/check")
OPEN = ("/health", "/docs", "/openapi.json")
"""Paths without a token: they tell nothing about requests."""
DRAINED_BYTES, DRAINED_SECONDS = 1 << 28, 10.0
"""How much of a refused body is read and dropped: most clients send all of it before they look for the answer, and see
a broken connection instead if nobody reads. Nothing of it is kept."""
SMALL_BYTES = 1 << 16
LATE = 408
"""Status of a body that does not arrive: its rest is not waited for."""
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
)


class Guard:
    """An ASGI application around another one.

    Args:
        app: The application.
        settings: Limits and token.
        metrics: Where requests are counted.
    """

    def __init__(self, app: Any, settings: ServeSettings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._in_flight: dict[str, int] = dict.fromkeys(WORK, 0)
        self._token = None if settings.token is None else settings.token.encode("ascii")

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Handles a request; other events, as start and end, are passed on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request = _Request(scope, receive, send)
        endpoint = request.path if request.path in ENDPOINTS else "other"
        labels = f'endpoint="{endpoint}"'
        self._metrics.add("requests_in_flight", labels)
        try:
            await self._handled(request)
        finally:
            seconds = time.perf_counter() - began
            self._metrics.add("requests_in_flight", labels, -1)
            self._metrics.request(endpoint, request.status, seconds, request.size)
            if self._settings.log_requests:
                log.info("%s %r %d %.1f ms %d bytes", scope["method"], request.path[:200], request.status,
                         1000 * seconds, request.size)  # fmt: skip

    async def _handled(self, request: _Request) -> None:
        counted = request.path in WORK
        try:
            self._check_token(request)
            self._check_size(request)
            if counted and self._in_flight[request.path] >= self._settings.max_requests:
                raise Refusal(429, f"{self._settings.max_requests} requests are being handled: try again later", 1)
            if counted:
                self._in_flight[request.path] += 1
            try:
                await self._read_and_run(request)
            finally:
                if counted:
                    self._in_flight[request.path] -= 1
        except Refusal as refusal:
            await request.refuse(refusal)
        except Exception as error:
            # The message may quote the request: only where it happened is logged.
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s at %s:%d", type(error).__name__, where.filename, where.lineno or 0)
            await request.refuse(Refusal(500, INTERNAL))

    async def _read_and_run(self, request: _Request) -> None:
        limit = self._settings.timeout
        try:
            async with asyncio.timeout(limit):
                await request.read(self._settings.max_bytes)
        except TimeoutError:
            raise Refusal(LATE, f"the body did not arrive within {limit:g} s") from None
        if request.gone:
            return
        try:
            async with asyncio.timeout(limit):
                await self._app(request.scope, request.again, request.send)
        except TimeoutError:
            said = f"no answer within {limit:g} s: send less, or raise --timeout"
            raise Refusal(504, said) from None

    def _check_token(self, request: _Request) -> None:
        if self._token is None or request.path in OPEN:
            return
        kind, _, given = request.header(b"authorization").partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            raise Refusal(401, "a valid token is needed: send the header Authorization: Bearer TOKEN")

    def _check_size(self, request: _Request) -> None:
        length = request.header(b"content-length")
        if length.isdigit() and int(length[:20]) > self._settings.max_bytes:
            raise Refusal(413, _too_large(self._settings.max_bytes))
        if request.path in WORK and request.scope["method"] == "POST":
            kind = request.header(b"content-type").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                # A page of another site cannot send this type without asking first, and is not answered then.
                raise Refusal(415, "send JSON with the header Content-Type: application/json")


class _Request:
    """A request while it is handled: its body, and whether and how it was answered."""

    def __init__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.scope, self._receive, self._send = scope, receive, send
        self.path: str = scope["path"]
        self.status, self.size = 499, 0  # 499: the client has gone, or the answer was never begun
        self.gone = False
        self._body, self._more, self._given, self._begun = b"", True, False, False

    def header(self, name: bytes) -> bytes:
        """The value of a header; empty if it is missing."""
        return next((value for key, value in self.scope["headers"] if key == name), b"")

    async def read(self, most: int) -> None:
        """Reads the body.

        Raises:
            Refusal: It is larger than `most` bytes; the rest is not read.
        """
        parts: list[bytes] = []
        while self._more and not self.gone:
            parts.append(await self._part())
            if self.size > most:
                raise Refusal(413, _too_large(most))
        self._body = b"".join(parts)

    async def again(self) -> dict[str, Any]:
        """ASGI's `receive` for the application: the body in one piece, then what the server says."""
        if self._given:
            return await self._receive()
        self._given = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        """ASGI's `send` for the application."""
        if message["type"] == "http.response.start":
            self._begun, self.status = True, message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answers with an error, if no answer has begun; a body that is still on its way is dropped."""
        if self._begun:
            return
        length = self.header(b"content-length") or b"0"
        is_small = not self.header(b"transfer-encoding") and length.isdigit() and int(length[:20]) <= SMALL_BYTES
        if is_small and refusal.status != LATE:
            await self._drain()  # at once there, so that the connection can be used again
        body = json.dumps({"error": str(refusal)}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **refusal.headers}
        unread = self._more and not self.gone
        if unread:
            headers["Connection"] = "close"
        pairs = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": pairs})
        await self._send({"type": "http.response.body", "body": body, "more_body": unread})
        if unread:
            await self._drain()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _drain(self) -> None:
        if self.header(b"expect"):  # the client waits for a go-ahead, and will see the answer instead
            return
        until = self.size + DRAINED_BYTES
        try:
            async with asyncio.timeout(DRAINED_SECONDS):
                while self._more and not self.gone and self.size < until:
                    await self._part()
        except TimeoutError:
            return

    async def _part(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.gone, self._more = True, False
            return b""
        part = message.get("body", b"")
        self.size += len(part)
        self._more = message.get("more_body", False)
        return part


def _too_large(most: int) -> str:
    return f"the body has more than {most:,} bytes: split it, or raise --max-bytes"
