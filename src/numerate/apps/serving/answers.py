"""Answers as JSON; every error is one line: `{"error": "..."}`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from numerate.apps.serving.refusals import Refusal
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

__all__ = ["add_error_answers", "encoded", "json_answer"]


def add_error_answers(app: FastAPI) -> None:
    """Makes one line of whatever a path raises on purpose; the rest is for `Guard`."""
    app.add_exception_handler(NumerateError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)


def encoded(answer: Any) -> bytes:
    """JSON in UTF-8."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def json_answer(answer: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer of JSON types."""
    return Response(encoded(answer), status, headers, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, Refusal):
        return json_answer({"error": str(error)}, error.status, error.headers)
    return json_answer({"error": str(error)}, 422)


async def _http_error(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    said = {404: "no such path: see /docs", 405: "this path takes another method: see /docs",
            400: "the body cannot be parsed as JSON"}  # fmt: skip
    return json_answer(
        {"error": said.get(status, "the request cannot be handled")}, status, getattr(error, "headers", None)
    )


async def _invalid(request: Request, error: Exception) -> Response:
    """One line about the first thing that does not fit, with the value."""
    first = error.errors()[0]  # type: ignore[attr-defined]
    if first["type"] == "json_invalid":
        place = first["loc"][-1]
        return json_answer({"error": f"the body is not JSON: {first['ctx']['error']} at character {place}"}, 400)
    where = ".".join(str(part) for part in first["loc"][1:] if part not in ("str", "list[str]")) or "body"
    given = "" if first["type"] in ("missing", "extra_forbidden") else f", got {_short(first.get('input'))}"
    return json_answer({"error": f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}{given}"}, 422)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
