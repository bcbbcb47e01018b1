r"""Reader `records`: the numbers of JSON-like text, each with the key path that leads to it.

It reads what `json.dumps` and Python's `repr` write, JSON5, JSON lines, and broken versions of all of them:

* Numbers have JSON's grammar, and also a leading `+`, `.5`, `5.`, `0x1F` and leading zeros. A sign glued to what stands
  before it is none: `2019-12-31` without quotes is 2019, 12 and 31.
* `NaN`, `Infinity`, `nan` and `inf` are values with `special` set; outside all brackets only JSON's own two spellings
  are, since `nan` is a word there. `true`, `false`, `null` and other names are no numbers, nor are the digits in them.
* Strings in either quote, with escapes, are left alone. One that is not closed ends with its line, because a raw line
  break ends a string in JSON and in Python alike.
* Keys may be quoted, bare names or numbers. A number that is a key is read too (nothing is lost) and has the path of
  its object.

Paths look like `description.planet0.m`, `data[3][0]` and `["my key"][0]`; the last form, a JSON string, is for all keys
that are no identifiers. What lies outside all brackets has the path `''`, and each of several records starts anew. A
list counts its commas; where only white space divides values, as numpy prints them, it counts the values. `(1, 2)` is
a list too.
A closing bracket closes all that was left open inside it; one that closes nothing is passed over.
A path of more than `MAX_PATH` characters (absurd depth, absurd keys) is cut there and ends in `…` and the last index.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from numerate.numerals.numeral import Numeral, make_numeral
from numerate.reading.base import Reader
from numerate.registry import readers

__all__ = ["MAX_PATH", "RecordsReader"]

MAX_PATH = 1_000
"""Longest path that is written out: without a limit, n nested numbers would need n²/2 characters."""

# In the look-behinds the character itself comes first: most positions are then refused without looking back.
_SIGN = r"[-+](?<![\w.)\]+-][-+])"
_NUMBER = (
    rf"((?:{_SIGN}|)(?:0[xX][0-9a-fA-F]++|[0-9]++(?:\.[0-9]*+|)|\.(?<![\w.]\.)[0-9]++)"
    r"(?:[eE][-+]?+[0-9]++|))"
)
# The closing quote is optional: were it needed, every quote of an unclosed line would be tried to the line's end.
# A single quote behind a letter is an apostrophe, unless the letter is one of Python's string prefixes.
_STRING = (
    r"""((?:(?<!\w)[uUbBrR]?+(?=["'])|(?="))"""
    r"""(?:"(?:[^"\\\r\n]++|\\.)*+"?+|'(?:[^'\\\r\n]++|\\.)*+'?+))"""
)
_SPECIAL = rf"((?:{_SIGN}(?=[Ii])|)(?<![\w.])(?:NaN|nan|Infinity|inf)(?!\w|\s*+:))"
_NAME = r"([^\W0-9]\w*+)"
# What stands between tokens is taken along at the end of one: a failed attempt at every bracket and space costs more.
_TOKEN = re.compile(rf"(?:{_NUMBER}|{_STRING}|{_SPECIAL}|{_NAME})[\s,:\[\](){{}}]*+", re.DOTALL)
_IS_NUMBER, _IS_STRING, _IS_SPECIAL = 1, 2, 3

_OPENER = {"]": "[", "}": "{", ")": "("}
_ESCAPE = re.compile(r"""\\(?:x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|(.))|(")""", re.DOTALL)


@readers.register("records", "json")
class RecordsReader(Reader):
    """Finds the numbers of JSON-like text and their key paths; all are of kind `quantity`.

    Example:
        >>> text = "{'description': {'planet0': {'m': 2.38}}, 'data': [[1.0, -.5], [nan, '7']], 'my key': [3e2]}"
        >>> [(n.text, n.value, n.path) for n in RecordsReader().find(text)][:3]
        [('2.38', 2.38, 'description.planet0.m'), ('1.0', 1.0, 'data[0][0]'), ('-.5', -0.5, 'data[0][1]')]
        >>> [(n.text, n.value, n.path) for n in RecordsReader().find(text)][3:]
        [('nan', nan, 'data[1][0]'), ('3e2', 300.0, '["my key"][0]')]
    """

    def find(self, text: str) -> list[Numeral]:
        """All numbers in order, with their paths."""
        found: list[Any] = []
        walk = _Walk()
        before = last = 0
        for match in _TOKEN.finditer(text):
            which: int = match.lastindex  # type: ignore[assignment]
            start, end = match.span(which)
            # Most numbers follow another one in a list, and `walk.step` counts those by itself.
            if which != _IS_NUMBER or not walk.filled or text[last:start] != ", ":
                walk.cross(text, before, last, start)
            before, last = start, end
            if which == _IS_NUMBER:
                written = match[1]
                try:
                    value = float(written)
                except ValueError:
                    value = _hexadecimal(written)
                found.append(make_numeral(written, start, end, value, path=walk.step()))
            elif which == _IS_STRING:
                walk.step()
            elif which == _IS_SPECIAL:
                written, path = match[3], walk.step()
                if walk.stack or written.endswith(("NaN", "Infinity")):
                    special = "nan" if written[0] in "nN" else "-inf" if written[0] == "-" else "inf"
                    found.append(make_numeral(written, start, end, float(written), special=special, path=path))
        return found

    def spans(self, text: str) -> list[tuple[int, int, float, str]]:
        """The numbers as bare `(start, end, value, kind)`: twice as fast or more, since no path is followed."""
        rows = []
        for match in _TOKEN.finditer(text):
            which = match.lastindex
            if which == _IS_NUMBER:
                written, start = match[1], match.start(1)
                try:
                    value = float(written)
                except ValueError:
                    value = _hexadecimal(written)
                rows.append((start, start + len(written), value, "quantity"))
            elif which == _IS_SPECIAL:
                # Whether a special is a value depends on the brackets around it: only `find` follows those.
                return [(n.start, n.end, n.value, n.kind) for n in self.find(text)]
        return rows


class _Walk:
    """Where in a record the reader stands. The stack is explicit: depth costs memory, never recursion.

    Attributes:
        stack: The open brackets, each with the state of the one around it.
        bracket: The innermost open bracket, or empty.
        prefix: Its path.
        index: The place in it if it is a list, else -1.
        here: The path of the next value if it is no list.
        filled: Whether the place in the list is taken, so that the next value has the next one.
    """

    __slots__ = ("_open", "_pieces", "bracket", "filled", "here", "index", "prefix", "stack")

    def __init__(self) -> None:
        self.stack: list[tuple[str, str, int, str]] = []
        self.bracket, self.prefix, self.index, self.here, self.filled = "", "", -1, "", False
        self._open = {"[": 0, "{": 0, "(": 0}
        self._pieces: dict[str, str] = {}

    def step(self) -> str:
        """Takes the place of one value; gives its path."""
        if self.index < 0:
            return self.here
        if self.filled:
            self.index += 1
        self.filled = True
        return f"{self.prefix}[{self.index}]"

    def cross(self, text: str, before: int, last: int, start: int) -> None:
        """Follows the marks in `text[last:start]`, between the token that began at `before` and the next one."""
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
                # `10:30` behind a key is no second key, but a string there means that a comma is missing.
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
        """Does what `],[` does, at a third of the cost: matrices are what most records consist of."""
        bracket, prefix, index, here = self.stack[-1]
        self.stack[-1] = bracket, prefix, index + 1, here
        self.prefix = _lengthen(prefix, f"[{index + 1}]")
        self.index, self.filled = 0, False

    def _leave(self, bracket: str) -> None:
        """Leaves the nearest open `bracket` and all that is open in it, if there is one."""
        if self._open[bracket]:
            opened = ""
            while opened != bracket:
                opened = self.bracket
                self._open[opened] -= 1
                self.bracket, self.prefix, self.index, self.here = self.stack.pop()
            self.filled = self.index >= 0

    def _name(self, token: str) -> str:
        """The path of a key's value. Keys come again in every record, so their piece of path is kept."""
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
    """A key as part of a path: `.name`, or `["any other"]` as JSON writes it."""
    quote = token[-1]
    body = token[token.index(quote) + 1 : -1] if quote in "\"'" else token
    if "\\" in body:
        body = _unescaped(body)
    if body.isidentifier():
        return f".{body}"
    # What cannot be printed (lone surrogates, control characters) is escaped, so that a path can be written anywhere.
    return f"[{json.dumps(body, ensure_ascii=not body.isprintable())}]"


def _unescaped(body: str) -> str:
    """Resolves the escapes of a JSON or Python string; gives the body itself if one of them is unknown."""
    try:
        return json.loads(f'"{_ESCAPE.sub(_as_json, body)}"', strict=False)
    except ValueError:
        return body


def _as_json(match: re.Match[str]) -> str:
    r"""An escape, or an unescaped quote, in JSON's way: it has neither `\'` nor `\x41` nor `\U0001f600`."""
    if code := match[1] or match[2]:
        return json.dumps(chr(int(code, 16)))[1:-1]
    return "'" if match[3] == "'" else '\\"' if match[4] else match[0]


def _hexadecimal(written: str) -> float:
    try:
        size = float(int(written.lstrip("+-"), 16))
    except OverflowError:
        size = math.inf
    return -size if written[0] == "-" else size
