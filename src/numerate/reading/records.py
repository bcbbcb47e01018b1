"""Reader `records`: finds the numbers of JSON-like text, each with its key path.

It reads the output of `json.dumps` and Python's `repr`, JSON5, JSON lines, and malformed versions of them:

* Numbers follow JSON's grammar; a leading `+`, `.5`, `5.`, `0x1F` and leading zeros are also allowed. A sign directly
  after a letter, digit or bracket is not a sign: `2019-12-31` without quotes is 2019, 12 and 31.
* `NaN`, `Infinity`, `nan` and `inf` are values with `special` set. Outside all brackets only `NaN` and `Infinity` are,
  because `nan` is a word there. `true`, `false`, `null`, other names and digits in names are not numbers.
* Strings in either quote, with escapes, are skipped. An unclosed string ends at the end of its line, because neither
  JSON nor Python strings contain raw line breaks.
* Keys may be quoted, bare names or numbers. A number that is a key is found too, with the path of its object.

Paths look like `description.planet0.m`, `data[3][0]` and `["my key"][0]`; keys that are not identifiers are written as
JSON strings. Outside all brackets the path is empty, and each record starts anew. Indices count commas, or values where
only white space separates them, as numpy prints them. `(1, 2)` is a list, too. A closing bracket also closes all
unclosed brackets inside it; a closing bracket without an opening one is ignored. Paths of more than `MAX_PATH`
characters are truncated and end with `…` and the last index.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from numerate.numerals.numeral import Numeral, make_numeral
from numerate.reading.base import Reader
from numerate.registry import readers

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_PATH", "RecordsReader"]

MAX_PATH = 1_000
"""Maximum length of a path: without a limit, n nested numbers would need n²/2 characters."""

# Look-behinds follow the character itself, so that most positions fail without looking back.
_SIGN = r"[-+](?<![\w.)\]+-][-+])"
_NUMBER = (
    rf"((?:{_SIGN}|)(?:0[xX][0-9a-fA-F]++|[0-9]++(?:\.[0-9]*+|)|\.(?<![\w.]\.)[0-9]++)"
    r"(?:[eE][-+]?+[0-9]++|))"
)
# The closing quote is optional: otherwise every quote of an unclosed string would be tried up to the line end.
# A single quote after a letter is an apostrophe, unless the letter is a string prefix of Python.
_STRING = (
    r"""((?:(?<!\w)[uUbBrR]?+(?=["'])|(?="))"""
    r"""(?:"(?>[^"\\\r\n]++|\\.)*+"?+|'(?>[^'\\\r\n]++|\\.)*+'?+))"""
)
_SPECIAL = rf"((?:{_SIGN}(?=[Ii])|)(?<![\w.])(?:NaN|nan|Infinity|inf)(?!\w|\s*+:))"
_NAME = r"([^\W0-9]\w*+)"
# A token includes the brackets and spaces after it: failing matches at each of them would cost more.
_TOKEN = re.compile(rf"(?:{_NUMBER}|{_STRING}|{_SPECIAL}|{_NAME})[\s,:\[\](){{}}]*+", re.DOTALL)
_IS_NUMBER, _IS_STRING, _IS_SPECIAL = 1, 2, 3

_OPENER = {"]": "[", "}": "{", ")": "("}
_ESCAPE = re.compile(r"""\\(?:x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|(.))|(")""", re.DOTALL)


@readers.register("records", "json")
class RecordsReader(Reader):
    """Finds the numbers of JSON-like text and their key paths; their kind is `quantity`.

    Example:
        >>> text = "{'description': {'planet0': {'m': 2.38}}, 'data': [[1.0, -.5], [nan, '7']], 'my key': [3e2]}"
        >>> [(n.text, n.value, n.path) for n in RecordsReader().find(text)][:3]
        [('2.38', 2.38, 'description.planet0.m'), ('1.0', 1.0, 'data[0][0]'), ('-.5', -0.5, 'data[0][1]')]
        >>> [(n.text, n.value, n.path) for n in RecordsReader().find(text)][3:]
        [('nan', nan, 'data[1][0]'), ('3e2', 300.0, '["my key"][0]')]
    """

    def find(self, text: str) -> list[Numeral]:
        """All numbers with their paths, in order."""
        found: list[Any] = []
        walk = _Position()
        before = last = 0
        for match in _TOKEN.finditer(text):
            which: int = match.lastindex  # type: ignore[assignment]
            start, end = match.span(which)
            # Most numbers follow another one in a list; `walk.step` counts those without `walk.cross`.
            if which != _IS_NUMBER or not walk.filled or text[last:start] != ", ":
                walk.cross(text, before, last, start)
            before, last = start, end
            if which == _IS_NUMBER:
                written = match[1]
                found.append(make_numeral(written, start, end, _value(written), path=walk.step()))
            elif which == _IS_STRING:
                walk.step()
            elif which == _IS_SPECIAL:
                written, path = match[3], walk.step()
                if walk.stack or written.endswith(("NaN", "Infinity")):
                    special = "nan" if written[0] in "nN" else "-inf" if written[0] == "-" else "inf"
                    found.append(make_numeral(written, start, end, float(written), special=special, path=path))
        return found

    def spans(self, text: str) -> Sequence[Sequence[Any]]:
        """The numbers as `(start, end, value, kind)`, without paths: at least twice as fast as `find`."""
        rows = []
        for match in _TOKEN.finditer(text):
            which = match.lastindex
            if which == _IS_NUMBER:
                written, start = match[1], match.start(1)
                rows.append((start, start + len(written), _value(written), "quantity"))
            elif which == _IS_SPECIAL:
                # Whether `nan` is a value depends on the brackets around it, which only `find` follows.
                return super().spans(text)
        return rows


class _Position:
    """The reader's position in a record. The stack is explicit, so that deep nesting needs no recursion.

    Attributes:
        stack: The open brackets, each with the state of the bracket around it.
        bracket: The innermost open bracket, or empty.
        prefix: Path of the innermost bracket.
        index: Current index if the innermost bracket is a list, else -1.
        here: Path of the next value if the innermost bracket is not a list.
        filled: Whether the current index has a value, so that the next value gets the next index.
    """

    __slots__ = ("_open", "_pieces", "bracket", "filled", "here", "index", "prefix", "stack")

    def __init__(self) -> None:
        self.stack: list[tuple[str, str, int, str]] = []
        self.bracket, self.prefix, self.index, self.here, self.filled = "", "", -1, "", False
        self._open = {"[": 0, "{": 0, "(": 0}
        self._pieces: dict[str, str] = {}

    def step(self) -> str:
        """Moves past one value and returns its path."""
        if self.index < 0:
            return self.here
        if self.filled:
            self.index += 1
        self.filled = True
        return f"{self.prefix}[{self.index}]"

    def cross(self, text: str, before: int, last: int, start: int) -> None:
        """Processes the marks in `text[last:start]`, between the token that starts at `before` and the next token."""
        gap = text[last:start]
        if gap == "], [" and self.bracket == "[" and self.stack[-1][2] >= 0:
            self._enter_next_row()
            return
        for position, mark in enumerate("".join(gap.split())):
            if mark == ",":
                self.here = self.prefix
                self.index += self.index >= 0
                self.filled = False
            elif mark in "[{(":
                self._enter(mark)
            elif mark in "]})":
                self._leave(_OPENER[mark])
            elif mark == ":" and position == 0 and self.bracket == "{":
                # `10:30` after a key is not a second key, but a string after a value means that a comma is missing.
                if self.here == self.prefix or text[before] not in "+-.0123456789":
                    self.here = self._name(text[before:last])
            else:
                self.filled = False

    def _enter(self, bracket: str) -> None:
        path = self.here if self.index < 0 else _lengthen(self.prefix, f"[{self.index + self.filled}]")
        self.index += self.filled
        self.stack.append((self.bracket, self.prefix, self.index, self.here))
        self._open[bracket] += 1
        self.bracket, self.prefix, self.here, self.filled = bracket, path, path, False
        self.index = -1 if bracket == "{" else 0

    def _enter_next_row(self) -> None:
        """Processes `], [` three times as fast as `cross`, because most records consist of matrices."""
        bracket, prefix, index, here = self.stack[-1]
        self.stack[-1] = bracket, prefix, index + 1, here
        self.prefix = _lengthen(prefix, f"[{index + 1}]")
        self.index, self.filled = 0, False

    def _leave(self, bracket: str) -> None:
        """Closes the nearest open `bracket` and all brackets inside it; does nothing if none is open."""
        if self._open[bracket]:
            opened = ""
            while opened != bracket:
                opened = self.bracket
                self._open[opened] -= 1
                self.bracket, self.prefix, self.index, self.here = self.stack.pop()
            self.filled = self.index >= 0

    def _name(self, token: str) -> str:
        """Path of the value of a key. Path pieces are cached, because keys recur in every record."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = _piece(token)
        return _lengthen(self.prefix, piece) if self.prefix else _lengthen("", piece.removeprefix("."))


def _lengthen(prefix: str, piece: str) -> str:
    if len(prefix) >= MAX_PATH:
        return prefix
    path = prefix + piece
    return path if len(path) <= MAX_PATH else path[: MAX_PATH - 1] + "…"


def _piece(token: str) -> str:
    """A key as part of a path: `.name` for identifiers, else a JSON string in brackets."""
    quote = token[-1]
    body = token[token.index(quote) + 1 : -1] if quote in "\"'" else token
    if "\\" in body:
        body = _unescaped(body)
    if body.isidentifier():
        return f".{body}"
    # Unprintable characters (lone surrogates, control characters) are escaped, so that paths can always be printed.
    return f"[{json.dumps(body, ensure_ascii=not body.isprintable())}]"


def _unescaped(body: str) -> str:
    """Resolves the escapes of a JSON or Python string; returns `body` itself if an escape is unknown."""
    try:
        return json.loads(f'"{_ESCAPE.sub(_as_json, body)}"', strict=False)
    except (ValueError, OverflowError):  # `\UFFFFFFFF` is no character
        return body


def _as_json(match: re.Match[str]) -> str:
    r"""Converts an escape or unescaped quote to JSON, which has no `\'`, `\x41` and `\U0001f600`."""
    if code := match[1] or match[2]:
        return json.dumps(chr(int(code, 16)))[1:-1]
    return "'" if match[3] == "'" else '\\"' if match[4] else match[0]


def _value(written: str) -> float:
    try:
        return float(written)
    except ValueError:  # hexadecimal
        size = written.lstrip("+-")
    try:
        number = float(int(size, 16))
    except OverflowError:
        number = math.inf
    return -number if written[0] == "-" else number
