"""Cuts the number words out of a text: runs of adjacent known words, with their positions.

Most words of a text are no number words. To skip them fast, the text is mapped to bytes, one for each character, and
split at once; only the surroundings of the words that were found are looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from numerate.reading.word_lexicon import END, Lexeme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.reading.word_lexicon import Lexicon

__all__ = ["HYPHENS", "WordStream"]

JOINTS = frozenset(" -\n\u00a0\u2010\u2011")
HYPHENS = frozenset("-\u2010\u2011")
APOSTROPHES = frozenset("'’")
_SPACE = 32
_PIECE = 4096
"""Characters in which the words of numbers are looked for together: a longer text has more of them, each rarely."""


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
        alone: Start, end and lexeme of each word that is a number of its own and not in `lex`.

    Args:
        text: The text.
        lexicon: The words of the language.
        digits: Numbers in digits as rows that begin with start and end; one directly before a number word ("3 and a
            half") becomes a lexeme of role `digits`, whose value is the row's index.
    """

    def __init__(self, text: str, lexicon: Lexicon, digits: Sequence[Sequence[Any]] = ()) -> None:
        self.text, self.lexicon, self._digits = text, lexicon, digits
        self.lex, self.starts, self.ends, self.joints = [END], [0], [0], [""]
        self.alone: list[tuple[int, int, Lexeme]] = []
        # Data has one space before the text: text[i] is data[i + 1].
        self._data = data = b" %b " % text.encode("latin-1", "replace").translate(_TABLE)
        positions = []
        find, begin, last = data.find, 0, len(data) - 1
        while begin < last:
            stop = find(b" ", begin + _PIECE)
            stop = last if stop < 0 else stop
            for word in lexicon.present(data[begin:stop].split()):
                # A needle that ends with a letter is found faster than one with a space at its end, as texts have many.
                needle, size = b" %b" % word, len(word) + 1
                at = find(needle, begin, stop)
                while at >= 0:
                    if data[at + size] == _SPACE:
                        positions.append((at, word))
                    at = find(needle, at + size, stop)
            begin = stop
        if positions:
            if len(positions) > 1:
                positions.sort()
            self._plain = text.isascii()
            self._read(positions)

    def _read(self, positions: list[tuple[int, bytes]]) -> None:
        simple, done = self.lexicon.simple.get, 0
        for position, word in positions:
            if position < done:
                continue
            lexeme = simple(word)
            if lexeme is None:
                if self._is_idle(position, word):
                    done = position + len(word)
                else:
                    done = self._read_run(position, done)
            elif not self._is_alone(position, word, lexeme):
                done = self._read_run(position, done)
            else:
                done = position + len(word)
                if not lexeme.doubtful and self._is_word(position, done):
                    self.alone.append((position, done, lexeme))
        if len(self.lex) > 1:
            for _ in range(4):  # the longest look-ahead
                self._append(END, len(self.text), len(self.text), "")

    def _is_alone(self, start: int, word: bytes, lexeme: Lexeme) -> bool:
        """Whether the number or ordinal is complete because no word beside it may be part of it; most are."""
        lexicon, text = self.lexicon, self.text
        if not lexeme.ordinal or lexicon.ordinal_chain:
            end = start + len(word)
            if text[end : end + 1] in JOINTS:
                following = self._data[end + 2 : self._data.find(b" ", end + 2)]
                if lexicon.parts_of(following) is not None and following not in lexicon.closing:
                    return False
        if start and text[start - 1] in JOINTS:
            before = self._data[self._data.rfind(b" ", 0, start) + 1 : start]
            return before not in (lexicon.ordinal_leading if lexeme.ordinal else lexicon.leading)
        return True

    def _is_idle(self, start: int, word: bytes) -> bool:
        """Whether a word that is no number of its own ("million", "half", "un") has no word beside it to join."""
        text, parts_of = self.text, self.lexicon.parts_of
        parts = self.lexicon.words.get(word)
        if parts is None or (parts[0].starts and parts[0].role != "half" and not parts[0].weak):
            return False
        end = start + len(word)
        if parts[0].starts or text[start - 2 : start - 1].isdecimal():
            if text[end : end + 1] not in JOINTS:
                return False
            if parts_of(self._data[end + 2 : self._data.find(b" ", end + 2)]) is not None:
                return False
            if parts[0].weak and not text[end + 1 : end + 2].isalpha():
                return False
        if start == 0 or text[start - 1] not in JOINTS:
            return True
        if text[start - 2 : start - 1].isdecimal():
            return self._is_covered(start)
        return parts_of(self._data[self._data.rfind(b" ", 0, start) + 1 : start]) is None

    def _is_covered(self, start: int) -> bool:
        """Whether the word at `start` is part of a number in digits: `5 million`."""
        index = bisect_right(self._digits, start, key=itemgetter(0)) - 1
        return index >= 0 and self._digits[index][1] > start

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
            if not comma and joint not in JOINTS:
                return end + 1
            start = end + 1 + comma

    def _is_word(self, start: int, end: int) -> bool:
        """Whether no letter of another script is attached, and no apostrophe with a letter ("one's") follows."""
        text = self.text
        after = text[end : end + 1]
        if after in APOSTROPHES and text[end + 1 : end + 2].isalpha():
            return False
        return self._plain or not (after.isalnum() or text[max(start - 1, 0) : start].isalnum())

    def _read_digits(self, start: int) -> int:
        """Appends the number in digits that ends at the word at `start` or covers it; returns the number's end."""
        if not self._digits or not self.text[start - 2].isdecimal():
            return 0
        index = bisect_right(self._digits, start, key=itemgetter(0)) - 1
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
