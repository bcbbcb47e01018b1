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

from numerate.numeral import Numeral
from numerate.reading.base import Reader
from numerate.registry import readers

__all__ = ["MAX_PATH", "RecordsReader"]

MAX_PATH = 1_000
"""Longest path that is written out: without a limit, n nested numbers would need n²/2 characters."""

# In the look-behinds the character itself comes first: most positions are then refused without looking back.
_NUMBER = (
    r"((?:[-+](?<![\w.)\]+-][-+]))?+"
    r"(?:0[xX][0-9a-fA-F]++|[0-9]++(?:\.[0-9]*+)?+|\.(?<![\w.]\.)[0-9]++)"
    r"(?:[eE][-+]?+[0-9]++)?+)"
)
_SPECIAL = r"((?:[-+](?<![\w.)\]+-][-+])(?=[Ii]))?+(?<![\w.])(?:NaN|nan|Infinity|inf)(?!\w|\s*+:))"
# The closing quote is optional: were it needed, every quote of an unclosed line would be tried to the line's end.
# A single quote behind a letter is an apostrophe, unless the letter is one of Python's string prefixes.
_STRING = (
    r"""((?:(?<!\w)[uUbBrR]?+(?=["'])|(?="))"""
    r"""(?:"(?:[^"\\\r\n]++|\\.)*+"?+|'(?:[^'\\\r\n]++|\\.)*+'?+))"""
)
_NAME = r"([^\W0-9]\w*+)"
_COLON = r"(\s*+:)?+"
# What cannot begin a token is taken along at the end of one, which saves a failed attempt at each such character.
_TOKEN = re.compile(
    rf"(?:{_NUMBER}{_COLON}|([\[{{(])|([\]}})])|{_STRING}{_COLON}|{_SPECIAL}|{_NAME}{_COLON})[\s,]*+", re.DOTALL
)
_NUM, _NUM_KEY, _OPEN, _CLOSE, _STR, _STR_KEY, _SPEC, _WORD, _WORD_KEY = range(1, 10)
_FLAT = re.compile(rf"(?:{_NUMBER}|{_STRING}|{_SPECIAL}|{_NAME})[\s,:\[\](){{}}]*+", re.DOTALL)

_OPENER = {"]": "[", "}": "{", ")": "("}
_ESCAPE = re.compile(r"""\\x([0-9a-fA-F]{2})|\\(.)|(")""", re.DOTALL)


class _Draft:
    """A `Numeral` in the making: a frozen dataclass needs four times as long for its own `__init__`."""

    __slots__ = tuple(Numeral.__slots__)

    def __init__(self, text: str, start: int, end: int, value: float, special: str | None, path: str) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.value = value
        self.kind = "quantity"
        self.unit = None
        self.unit_span = None
        self.power = 0
        self.point = "."
        self.special = special
        self.path = path
        self._style = None
        self.__class__ = Numeral  # type: ignore[assignment]


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
        prefix, index, here = "", -1, ""  # the open bracket: its path, the place in a list (or -1), the path of a value
        last, filled = 0, False  # where the last token ended; whether it was a value, so that mere space may divide
        for match in _TOKEN.finditer(text):
            which: int = match.lastindex  # type: ignore[assignment]
            if which <= _NUM_KEY or which == _SPEC:
                group = _SPEC if which == _SPEC else _NUM
                start, end = match.span(group)
                if index >= 0:
                    gap = text[last:start]
                    index += 1 if gap == ", " else _steps(gap, filled)
                    here = f"{prefix}[{index}]"
                elif which == _NUM_KEY and walk.in_object and ":" not in text[last:start]:
                    here = prefix
                written = match[group]
                if which != _SPEC:
                    try:
                        value = float(written)
                    except ValueError:
                        value = _hexadecimal(written)
                    found.append(_Draft(written, start, end, value, None, here))
                    if which == _NUM_KEY and walk.in_object and here == prefix:
                        here = walk.name(prefix, written)
                elif walk.stack or written.endswith(("NaN", "Infinity")):
                    special = "nan" if written[0] in "nN" else "-inf" if written[0] == "-" else "inf"
                    found.append(_Draft(written, start, end, float(written), special, here))
                last, filled = end, True
            elif which == _OPEN:
                start, end = match.span(_OPEN)
                if index >= 0:
                    index += _steps(text[last:start], filled)
                    here = _lengthen(prefix, f"[{index}]")
                walk.open(match[_OPEN], prefix, index, here)
                prefix, index, last, filled = here, -1 if walk.in_object else 0, end, False
            elif which == _CLOSE:
                last = match.end(_CLOSE)
                if frame := walk.close(_OPENER[match[_CLOSE]]):
                    (prefix, index, here), filled = frame, True
            else:
                group = _STR if which <= _STR_KEY else _WORD
                start, end = match.span(group)
                if index >= 0:
                    # A bare word divides no list, or `[1 kg, 2 kg]` would have four places.
                    index += _steps(text[last:start], filled and group == _STR)
                    filled = filled or group == _STR
                elif walk.in_object and which in (_STR_KEY, _WORD_KEY):
                    here = walk.name(prefix, match[group])
                last = end
        return found

    def spans(self, text: str) -> list[tuple[int, int, float, str]]:
        """The numbers as bare `(start, end, value, kind)`: about three times as fast, since no path is followed."""
        rows = []
        for match in _FLAT.finditer(text):
            which = match.lastindex
            if which == 1:
                try:
                    value = float(match[1])
                except ValueError:
                    value = _hexadecimal(match[1])
                rows.append((*match.span(1), value, "quantity"))
            elif which == 3:
                # Whether a special is a value depends on the brackets around it: only `find` follows those.
                return [(n.start, n.end, n.value, n.kind) for n in self.find(text)]
        return rows


class _Walk:
    """The open brackets of a record, as an explicit stack: depth costs memory, never recursion."""

    def __init__(self) -> None:
        self.stack: list[tuple[str, str, int, str]] = []
        self.in_object = False
        self._open = {"[": 0, "{": 0, "(": 0}
        self._pieces: dict[str, str] = {}

    def open(self, bracket: str, prefix: str, index: int, here: str) -> None:
        """Enters a bracket; the rest is the state of the one around it."""
        self.stack.append((bracket, prefix, index, here))
        self._open[bracket] += 1
        self.in_object = bracket == "{"

    def close(self, bracket: str) -> tuple[str, int, str] | None:
        """Leaves the nearest open `bracket` and all in it; gives the state outside (None: there is none open)."""
        if not self._open[bracket]:
            return None
        while True:
            opened, prefix, index, here = self.stack.pop()
            self._open[opened] -= 1
            if opened == bracket:
                self.in_object = bool(self.stack) and self.stack[-1][0] == "{"
                return prefix, index, here

    def name(self, prefix: str, token: str) -> str:
        """The path of a key's value. Keys come again in every record, so their piece of path is kept."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = _piece(token)
        return _lengthen(prefix, piece) if prefix or piece[0] == "[" else _lengthen("", piece[1:])


def _steps(gap: str, filled: bool) -> int:
    """By how many places of a list two tokens with `gap` between them are apart."""
    return gap.count(",") or int(filled and gap.isspace())


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
    if match[1]:
        return f"\\u00{match[1]}"
    return "'" if match[2] == "'" else '\\"' if match[3] else match[0]


def _hexadecimal(written: str) -> float:
    try:
        size = float(int(written.lstrip("+-"), 16))
    except OverflowError:
        size = math.inf
    return -size if written[0] == "-" else size
