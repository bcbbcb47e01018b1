"""What the service refuses before a path sees it: token, size, overload, time; and what is logged."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from numerate.apps.serving import guard
from numerate.apps.serving.guard import Guard
from numerate.apps.serving.metrics import Metrics
from numerate.apps.serving.settings import ServeSettings

if TYPE_CHECKING:
    import pytest

TOKEN = "0123456789abcdef"
JSON = {"content-type": "application/json"}


class Answer:
    """What a client gets, and how much of its body was read."""

    def __init__(self) -> None:
        self.status, self.headers, self.body, self.parts_read = 0, {}, b"", 0
        self.read_before_answer = 0

    @property
    def error(self) -> str:
        return json.loads(self.body)["error"]


async def ask(
    app: Any, path: str = "/find", parts: list[bytes] | None = None, headers: dict[str, str] | None = None,
    pause: float = 0, method: str = "POST",
) -> Answer:  # fmt: skip
    """Sends a request as a server would, part by part; an empty list is a client that goes away."""
    answer, left = Answer(), list([b"{}"] if parts is None else parts)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if not left:
            return {"type": "http.disconnect"}
        answer.parts_read += 1
        answer.read_before_answer += not answer.status
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {key.decode(): value.decode() for key, value in message["headers"]}
        else:
            answer.body += message["body"]

    pairs = [(key.encode(), value.encode()) for key, value in (JSON if headers is None else headers).items()]
    scope = {"type": "http", "method": method, "path": path, "headers": pairs}
    await app(scope, receive, send)
    return answer


def guarded(inner: Any, **settings: Any) -> Guard:
    return Guard(inner, ServeSettings(**settings), Metrics())


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def test_the_token_is_asked_for_before_the_body_is_read() -> None:
    app = guarded(echo, token=TOKEN)
    body = [b"x" * 1000] * 50

    async def all_of_them() -> list[Answer]:
        given = ("", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é")
        wrong = [await ask(app, parts=body, headers={**JSON, "authorization": each}) for each in given]
        right = [await ask(app, headers={**JSON, "authorization": f"{kind} {TOKEN}"}) for kind in ("Bearer", "bearer")]
        opened = [await ask(app, path, headers={}, method="GET") for path in ("/health", "/docs", "/openapi.json")]
        return [*wrong, *right, *opened, await ask(app, "/metrics", headers={}, method="GET")]

    found = asyncio.run(all_of_them())
    assert [each.status for each in found] == [401] * 6 + [200] * 5 + [401]
    assert found[0].headers["www-authenticate"] == "Bearer" and TOKEN not in str([each.body for each in found])


def test_a_large_body_is_refused_without_reading_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = guarded(echo)
    huge = [b"x" * (1 << 20)] * 100
    told = asyncio.run(ask(app, parts=huge, headers={**JSON, "content-length": str(100 << 20)}))
    assert (told.status, told.read_before_answer) == (413, 0) and "1,048,576" in told.error
    streamed = asyncio.run(ask(app, parts=huge, headers={**JSON, "transfer-encoding": "chunked"}))
    assert (streamed.status, streamed.read_before_answer) == (413, 2)
    for each in (told, streamed):
        assert each.parts_read == 100 and each.headers["connection"] == "close"  # dropped after the answer
    monkeypatch.setattr(guard, "DRAINED_BYTES", 1 << 22)
    assert asyncio.run(ask(app, parts=huge, headers={**JSON, "content-length": str(100 << 20)})).parts_read <= 8
    waiting = {**JSON, "content-length": str(100 << 20), "expect": "100-continue"}
    assert asyncio.run(ask(app, parts=huge, headers=waiting)).parts_read == 0
    long = asyncio.run(ask(app, parts=huge, headers={**JSON, "content-length": "9" * 400}))
    assert long.status == 413


def test_what_does_not_end_in_time_gets_504_or_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.02)

    async def never(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    slow = asyncio.run(ask(guarded(never, timeout=0.05)))
    assert slow.status == 504 and "within 0.05 s" in slow.error
    dripping = asyncio.run(ask(guarded(echo, timeout=0.05), parts=[b"x"] * 1000, pause=0.01))
    assert dripping.status == 408 and dripping.parts_read < 20
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.3)
    short = {**JSON, "content-length": "50"}
    waiting = asyncio.run(ask(guarded(echo, timeout=0.05), parts=[b"x"] * 1000, pause=0.01, headers=short))
    assert waiting.status == 408 and waiting.read_before_answer < 8, "a small body is not waited for once more"
    gone = asyncio.run(ask(guarded(echo), parts=[]))
    assert gone.status == 0 and gone.body == b""


def test_too_many_requests_of_one_path_get_429_and_others_go_on() -> None:
    async def run() -> list[Answer]:
        going = asyncio.Event()

        async def waiting(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/fill":
                await going.wait()
            await echo(scope, receive, send)

        app = guarded(waiting, max_requests=2)
        tasks = [asyncio.create_task(ask(app, "/fill")) for _ in range(4)]
        await asyncio.sleep(0.01)
        other = [await ask(app, "/find"), await ask(app, "/health", headers={}, method="GET")]
        going.set()
        return [*await asyncio.gather(*tasks), *other, await ask(app, "/fill")]

    found = asyncio.run(run())
    assert [each.status for each in found] == [200, 200, 429, 429, 200, 200, 200]
    assert found[2].headers["retry-after"] == "1" and "connection" not in found[2].headers


def test_requests_are_logged_only_if_asked_and_never_their_body(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError(f"cannot use {(await receive())['body']}")

    for inner in (echo, broken):
        asyncio.run(ask(guarded(inner), parts=[b"my secret 5"]))
        assert "secret" not in caplog.text and "/find" not in caplog.text
    assert "ValueError at" in caplog.text
    caplog.clear()
    asyncio.run(ask(guarded(echo, log_requests=True), "/find\n2026 forged", parts=[b"my secret 5"]))
    assert "POST '/find\\n2026 forged' 200" in caplog.text and "secret" not in caplog.text


def test_requests_are_counted_by_path_and_status() -> None:
    metrics = Metrics()
    app = Guard(echo, ServeSettings(), metrics)
    for path, headers in (("/find", JSON), ("/find", JSON), ("/find", {}), ("/anything/else", JSON)):
        asyncio.run(ask(app, path, parts=[b"12345"], headers=headers))
    text = metrics.text()
    assert 'numerate_requests_total{endpoint="/find",status="200"} 2\n' in text
    assert 'numerate_requests_total{endpoint="/find",status="415"} 1\n' in text
    assert 'numerate_requests_total{endpoint="other",status="200"} 1\n' in text and "anything" not in text
    assert 'numerate_request_bytes_total{endpoint="other"} 5\n' in text
    assert 'numerate_requests_in_flight{endpoint="/find"} 0\n' in text
