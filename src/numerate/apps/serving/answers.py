"""Answers as JSON; every error is one line: `{"error": "..."}`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from numerate.apps.serving.refusals import INTERNAL, Refusal
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

__all__ = ["add_error_answers", "encoded", "json_answer"]


def add_error_answers(app: FastAPI) -> None:
    """Makes one line of whatever a path raises."""
    app.add_exception_handler(NumerateError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _internal)  # it is raised again, and `Guard` logs where it happened


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


async def _internal(request: Request, error: Exception) -> Response:
    return json_answer({"error": INTERNAL}, 500)


async def _invalid(request: Request, error: Exception) -> Response:
    """One line about the first thing that does not fit, with the value."""
    all_of_them: list[Any] = error.errors()  # type: ignore[attr-defined]
    # A wrong name explains a missing field, and not the other way round.
    first = next((each for each in all_of_them if each["type"] == "extra_forbidden"), all_of_them[0])
    if first["type"] == "json_invalid":
        place = first["loc"][-1]
        return json_answer({"error": f"the body is not JSON: {first['ctx']['error']} at character {place}"}, 400)
    if first["type"] == "extra_forbidden":
        return json_answer({"error": f"{_short(first['loc'][-1])} is no field of this request: see /docs"}, 422)
    where = ".".join(str(part) for part in first["loc"][1:] if part not in ("str", "list[str]")) or "body"
    given = "" if first["type"] == "missing" else f", got {_short(first.get('input'))}"
    return json_answer({"error": f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}{given}"}, 422)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
