"""Cuts the number words out of a text: runs of adjacent known words, with their positions.

Most words of a text are no number words. To skip them fast, the text is mapped to bytes, one for each character, and
split at once; only the surroundings of the words that were found are looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from numerate.reading.word_lexicon import END, Lexeme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.reading.word_lexicon import Lexicon

__all__ = ["HYPHENS", "WordStream"]

JOINTS = frozenset(" -\n\u00a0\u2010\u2011")
HYPHENS = frozenset("-\u2010\u2011")
_SPACE = 32


def _mapped(code: int) -> int:
    """Letters in lower case, "0" for the other characters of words, a space for the rest."""
    char = chr(code)
    if char.isalpha():
        return ord(char.lower()) if ord(char.lower()) < 256 else code
    return 48 if char.isalnum() or char == "_" else _SPACE


_TABLE = bytes(map(_mapped, range(256)))
_COMMA = Lexeme(",", "comma")


class WordStream:
    """The known words of a text, with `END` between words that are not adjacent.

    Attributes:
        lex: The lexemes.
        starts: Offset of each lexeme.
        ends: Offset after each lexeme.
        joints: The character before each lexeme: a space, a hyphen, or "" inside of a compound and after `END`.

    Args:
        text: The text.
        lexicon: The words of the language.
        digits: Numbers in digits as rows that begin with start and end; one directly before a number word ("3 and a
            half") becomes a lexeme of role `digits`, whose value is the row's index.
    """

    def __init__(self, text: str, lexicon: Lexicon, digits: Sequence[Sequence[Any]] = ()) -> None:
        self.text, self.lexicon = text, lexicon
        self.lex, self.starts, self.ends, self.joints = [END], [0], [0], [""]
        self._digits = digits
        # Data has one space before the text: text[i] is data[i + 1].
        self._data = data = b" " + text.encode("latin-1", "replace").translate(_TABLE) + b" "
        positions = []
        for word in lexicon.present(data.split()):
            needle, step = b" " + word + b" ", len(word) + 1
            at = data.find(needle)
            while at >= 0:
                positions.append(at)
                at = data.find(needle, at + step)
        if positions:
            positions.sort()
            self._plain = text.isascii()
            done = 0
            for position in positions:
                if position >= done:
                    done = self._read_run(position, done)
            for _ in range(4):  # the longest look-ahead
                self._append(END, len(text), len(text), "")

    def _append(self, lexeme: Lexeme, start: int, end: int, joint: str) -> None:
        self.lex.append(lexeme)
        self.starts.append(start)
        self.ends.append(end)
        self.joints.append(joint)

    def _read_run(self, position: int, done: int) -> int:
        """Appends all known words around the one at `position` that begin at `done` or later; returns their end."""
        text, data, parts_of = self.text, self._data, self.lexicon.parts_of
        start, before = position, []
        while start > done and text[start - 1] in JOINTS:
            first = data.rfind(b" ", 0, start)
            parts = parts_of(data[first + 1 : start])
            if parts is None or first < done or not self._is_word(first, start - 1):
                break
            before.append((first, start - 1, parts))
            start = first
        self._append(END, start, start, "")
        covered = self._read_digits(start) if start > 1 and text[start - 1] in JOINTS else 0
        for first, end, parts in reversed(before):
            if first >= covered:
                self._append_word(first, end, parts)
        start, comma = position, False
        while True:
            end = data.find(b" ", start + 1) - 1
            parts = parts_of(data[start + 1 : end + 1])
            if parts is None or not self._is_word(start, end):
                return max(start, position + 1)
            if comma:
                self._append(_COMMA, start - 2, start - 1, "")
            if start >= covered:
                self._append_word(start, end, parts)
            joint = text[end : end + 1]
            comma = joint == "," and self.lex[-1].role == "scale" and text[end + 1 : end + 2] == " "
            if joint not in JOINTS and not comma or not joint:
                return end + 1
            start = end + 1 + comma

    def _is_word(self, start: int, end: int) -> bool:
        """Whether no letter of another script is attached, and no apostrophe with a letter ("one's") follows."""
        text = self.text
        after = text[end : end + 1]
        if after in ("'", "’") and after and text[end + 1 : end + 2].isalpha():
            return False
        return self._plain or not (after.isalnum() or text[max(start - 1, 0) : start].isalnum())

    def _read_digits(self, start: int) -> int:
        """Appends the number in digits that ends at the word at `start` or covers it; returns the number's end."""
        if not self._digits or not self.text[start - 2].isdecimal():
            return 0
        index = bisect_right(self._digits, start, key=lambda row: row[0]) - 1
        if index < 0 or self._digits[index][1] < start - 1:
            return 0
        first, end = self._digits[index][:2]
        self._append(Lexeme("", "digits", index, starts=True), first, end, "")
        return end

    def _append_word(self, start: int, end: int, parts: tuple[Lexeme, ...]) -> None:
        joint = self.text[start - 1] if self.ends[-1] == start - 1 and self.lex[-1] is not END else " "
        if len(parts) == 1:
            lexeme, last = parts[0], self.lex[-1]
            if self.lexicon.merges and (both := self.lexicon.merges.get((last.word, lexeme.word))) and joint != ",":
                self.lex[-1], self.ends[-1] = both, end
                return
            self._append(lexeme, start, end, joint)
            return
        for lexeme in parts:
            stop = min(start + len(lexeme.word), end)
            self._append(lexeme, start, stop, joint)
            start, joint = stop, ""
        self.ends[-1] = end  # the words of a compound may be written together: threescore
