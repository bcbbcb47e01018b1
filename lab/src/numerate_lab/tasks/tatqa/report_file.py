"""Files of TAT-QA in the official JSON: contexts of one table and some paragraphs, with questions about them."""

from __future__ import annotations

import functools
import gzip
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.training.sources import SourceError
from numerate.training.text_files import parsed_json

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ANSWER_TYPES", "SCALES", "SOURCES", "Context", "Question", "read_contexts"]

ANSWER_TYPES = ("span", "multi-span", "arithmetic", "count")
SOURCES = ("table", "text", "table-text")
SCALES = ("", "thousand", "million", "billion", "percent")
_LONGEST_ORDER = 9
"""Digits of the number of a paragraph, at most."""
_JSON = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        uid: Its official id.
        text: The question.
        answers: The answer: spans, or one number as it is written in the file; None in a file without answers.
        answer_type: One of `ANSWER_TYPES`.
        source: Where the answer is from, one of `SOURCES`.
        scale: One of `SCALES`.
        derivation: How a number is computed (`(44.1-56.7)/56.7`), or the items that are counted, between `##`.
        paragraphs: `order` of the paragraphs that are needed.
    """

    uid: str
    text: str
    answers: tuple[str, ...] | None = None
    answer_type: str = "span"
    source: str = "table"
    scale: str = ""
    derivation: str = ""
    paragraphs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A table and its paragraphs, with questions.

    Attributes:
        uid: The id of the table.
        table: Its rows of cells.
        paragraphs: `order` and text of each paragraph.
        questions: The questions.
    """

    uid: str
    table: tuple[tuple[str, ...], ...]
    paragraphs: tuple[tuple[int, str], ...]
    questions: tuple[Question, ...]


def read_contexts(path: str | Path) -> tuple[Context, ...]:
    """The contexts of a file (`.json` or `.json.gz`): train, dev, test without answers, or test gold.

    Raises:
        SourceError: The file cannot be read; the message names file, record and what is wrong.
    """
    state = Path(path).stat() if Path(path).is_file() else None
    if state is None:
        said = "is a folder; give the JSON file in it" if Path(path).is_dir() else "no such file"
        raise SourceError(f"{str(path)!r}: {said}")
    return _read(str(path), state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _read(path: str, size: int, changed: int) -> tuple[Context, ...]:
    """A file of this size and time of change, read once for all trials."""
    del size, changed
    try:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:  # a broken archive is an OSError, too
        raise SourceError(f"{path}: cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: byte {error.start} is not UTF-8; convert the file to UTF-8") from None
    found = parsed_json(text, path)
    if not isinstance(found, list) or not found:
        what = "an empty list" if found == [] else repr(str(found)[:40])
        raise SourceError(f"{path}: expected a list of contexts, got {what}; give a file of TAT-QA")
    contexts = tuple(_context(one, f"{path}: context {number}") for number, one in enumerate(found, 1))
    if not any(context.questions for context in contexts):
        raise SourceError(f"{path}: none of its {len(contexts)} contexts has a question; give a file with questions")
    _check_uids(contexts, path)
    _check_answers(contexts, path)
    return contexts


def _check_answers(contexts: Iterable[Context], path: str) -> None:
    """Refuses answers to some questions alone: a file is measured as a whole or, like the official test, not at all."""
    every = [(number, one) for number, context in enumerate(contexts, 1) for one in context.questions]
    missing = [(number, one.uid) for number, one in every if one.answers is None]
    if missing and len(missing) < len(every):
        number, uid = missing[0]
        where = f"{path}: context {number}, question {uid!r}"
        raise SourceError(
            f"{where}: 'answer' is missing in {len(missing)} of {len(every)} questions; give it to all or to none"
        )


def _check_uids(contexts: Iterable[Context], path: str) -> None:
    """Refuses a uid that two questions have: predictions are exported by uid, and one of them would be lost."""
    seen: dict[str, int] = {}
    for number, context in enumerate(contexts, 1):
        for question in context.questions:
            if question.uid in seen:
                where = f"contexts {seen[question.uid]} and {number}"
                raise SourceError(f"{path}: two questions have the uid {question.uid!r}, in {where}; give each its own")
            seen[question.uid] = number


def _context(given: Any, where: str) -> Context:
    table = _field(given, "table", dict, where)
    uid = str(table.get("uid", ""))
    where = f"{where} ({uid})" if uid else where
    rows = _field(table, "table", list, where)
    if not rows:
        raise SourceError(f"{where}: the table has no rows; give a list of rows, each a list of cells")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list) or not row:
            raise SourceError(f"{where}: row {number} of the table must be a list of cells, got {str(row)[:60]!r}")
        for column, cell in enumerate(row, 1):
            if not isinstance(cell, str):
                place = f"cell {column} in row {number} of the table"
                raise SourceError(f"{where}: {place} must be a text, got {str(cell)[:60]}; write it as a string")
    paragraphs = [
        _paragraph(one, f"{where}, paragraph {number}")
        for number, one in enumerate(_field(given, "paragraphs", list, where), 1)
    ]
    questions = [
        _question(one, f"{where}, question {number}")
        for number, one in enumerate(_field(given, "questions", list, where), 1)
    ]
    return Context(uid, tuple(map(tuple, rows)), tuple(sorted(paragraphs)), tuple(questions))


def _paragraph(given: Any, where: str) -> tuple[int, str]:
    order = _field(given, "order", int, where)
    if order < 1:  # 0 stands for a table cell
        raise SourceError(f"{where}: 'order' must be at least 1, got {order}; count paragraphs from 1")
    return order, _text(given, "text", where)


def _question(given: Any, where: str) -> Question:
    uid, text = _text(given, "uid", where), _text(given, "question", where)
    where = f"{where} ({uid})"
    if "answer" not in given and "answer_type" not in given:  # the official test file
        return Question(uid, text)
    kind = _text(given, "answer_type", where)
    if kind not in ANSWER_TYPES:
        raise SourceError(f"{where}: unknown answer_type {kind!r}; it must be one of {', '.join(ANSWER_TYPES)}")
    source, scale = _text(given, "answer_from", where), _text(given, "scale", where)
    for name, value, known in (("answer_from", source, SOURCES), ("scale", scale, SCALES)):
        if value not in known:
            raise SourceError(f"{where}: unknown {name} {value!r}; it must be one of {', '.join(map(repr, known))}")
    answers = _answers(given, kind, where)
    named = given.get("rel_paragraphs") or []
    if not isinstance(named, list):
        raise SourceError(f"{where}: 'rel_paragraphs' must be a list of numbers of paragraphs, got {str(named)[:60]!r}")
    needed = tuple(int(one) for one in map(str, named) if one.isdecimal() and len(one) <= _LONGEST_ORDER)
    return Question(uid, text, answers, kind, source, scale, str(given.get("derivation") or ""), needed)


def _answers(given: dict[str, Any], kind: str, where: str) -> tuple[str, ...]:
    """The answer as strings, as the official evaluation makes them: `str` of a number, the count as a whole number."""
    answer = given.get("answer")
    if answer is None or answer in ("", []):
        raise SourceError(f"{where}: there is no answer; give one, or leave out answer and answer_type")
    if kind in ("span", "multi-span"):
        if not isinstance(answer, list) or not all(isinstance(one, str) for one in answer):
            raise SourceError(f"{where}: the answer of a {kind} must be a list of texts, got {str(answer)[:60]!r}")
        return tuple(answer)
    one: Any = answer[0] if isinstance(answer, list) and len(answer) == 1 else answer
    try:
        number = math.nan if isinstance(one, bool) else float(one.replace(",", "") if isinstance(one, str) else one)
    except (TypeError, ValueError, OverflowError):  # a whole number of 400 digits is no float
        number = math.nan
    if not math.isfinite(number) or (kind == "count" and number != int(number)):
        what = "a whole number" if kind == "count" else "one number"
        raise SourceError(f"{where}: the answer of type {kind} must be {what}, got {str(answer)[:60]!r}")
    return (str(int(number)) if kind == "count" else str(one),)


def _field(given: Any, name: str, kind: type, where: str) -> Any:
    if not isinstance(given, dict) or name not in given:
        if not isinstance(given, dict):
            raise SourceError(f"{where}: expected an object with {name!r}, got {str(given)[:60]!r}")
        raise SourceError(f"{where}: {name!r} is missing; it has {', '.join(map(repr, given))[:200] or 'no fields'}")
    if not isinstance(given[name], kind) or isinstance(given[name], bool):
        raise SourceError(f"{where}: {name!r} must be {_JSON[kind]}, got {str(given[name])[:60]!r}")
    return given[name]


def _text(given: Any, name: str, where: str) -> str:
    return _field(given, name, str, where)
