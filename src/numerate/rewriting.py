"""Texts with their numbers rewritten in a notation, and back: what the processor hands to the tokenizer."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numerate.notation.base import END, NUM, Notation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numeral import Numeral

__all__ = ["FIRST_MARK", "OWN_MARKS", "Rewritten", "restore", "rewrite"]

FIRST_MARK = 0xF0000
"""Our tokens travel through the tokenizer as characters of this private plane."""
OWN_MARKS = 0xFFFD
_MARKS = re.compile(f"[{chr(FIRST_MARK)}-{chr(FIRST_MARK + OWN_MARKS)}]")
_ASKED = re.compile(re.escape(NUM))
_COMMA = re.compile(r",[ ]?")


@dataclass
class Rewritten:
    """A text with its numbers rewritten.

    Attributes:
        text: What the tokenizer gets.
        slots: (begin, end, numeral) of each stretch of `text` that carries a number's vector; None: asked for.
        cuts: (offset in `text`, offset in the original, length in `text`, length in the original) of each change.
    """

    text: str
    slots: list[tuple[int, int, Numeral | None]] = field(default_factory=list)
    cuts: list[tuple[int, int, int, int]] = field(default_factory=list)

    def original(self, offset: int, end: bool = False) -> int:
        """The offset in the original text; inside a change, the change's beginning (or end)."""
        index = bisect.bisect_right(self.cuts, (offset - 1 if end else offset, float("inf"))) - 1
        if index < 0:
            return offset
        new, old, new_length, old_length = self.cuts[index]
        if offset < new + new_length or (end and offset == new + new_length):
            return old + old_length if end else old
        return offset - new - new_length + old + old_length


def rewrite(
    text: str, numerals: Sequence[Numeral], notation: Notation, index: dict[str, int], implied_commas: bool = False
) -> Rewritten:
    """Rewrites the numerals of a text, and each literal `[NUM]`, which asks for a number.

    Args:
        text: The original text.
        numerals: Its numerals, sorted and disjoint.
        notation: How they are written.
        index: The position of each token of our own.
        implied_commas: Leave out a comma between two numerals.
    """
    if not text.isascii():
        text = _MARKS.sub("\ufffd", text)  # a character of our private plane would pass for a token of ours
    asked = [match.span() for match in _ASKED.finditer(text)] if NUM in text else []
    items: list[tuple[int, int, Numeral | None]] = [(n.start, n.end, n) for n in numerals]
    if asked:
        items = sorted([*items, *((begin, end, None) for begin, end in asked)], key=lambda item: item[0])
    result = Rewritten(text)
    pieces: list[str] = []
    length = done = 0
    previous_end = -1
    for begin, end, numeral in items:
        if begin < done:
            continue
        gap = text[done:begin]
        if implied_commas and previous_end == done and _COMMA.fullmatch(gap):
            result.cuts.append((length, done, 0, len(gap)))
        else:
            pieces.append(gap)
            length += len(gap)
        start = length
        if numeral is None:
            mark = chr(FIRST_MARK + index[NUM])
            pieces.append(mark)
            result.slots.append((length, length + 1, None))
            length += 1
        else:
            slot_begin = slot_end = -1
            for piece, own, slot in notation.write(numeral):
                written = chr(FIRST_MARK + index[piece]) if own else piece
                pieces.append(written)
                if slot:
                    slot_begin = length if slot_begin < 0 else slot_begin
                    slot_end = length + len(written)
                length += len(written)
            if slot_begin >= 0 and slot_end > slot_begin:
                result.slots.append((slot_begin, slot_end, numeral))
        if text[begin:end] != "".join(pieces[-1:]) or length - start != end - begin:
            result.cuts.append((start, begin, length - start, end - begin))
        done = previous_end = end
    pieces.append(text[done:])
    result.text = "".join(pieces)
    return result


def restore(
    text: str,
    own_tokens: Sequence[str],
    notation: Notation,
    numerals: list[Numeral | None],
    implied_commas: bool = False,
) -> str:
    """Writes the numbers of a decoded text again: the counterpart of `rewrite`."""
    queue = iter(numerals)
    keeps_subwords = not any(token != NUM for token in own_tokens)

    def one_run(match: re.Match[str]) -> str:
        run = match.group()
        tokens = [own_tokens[ord(char) - FIRST_MARK] for char in run if not char.isspace()]
        written: list[str] = []
        position = 0
        while position < len(tokens):
            if tokens[position] == NUM:
                numeral = next(queue, None)
                written.append(NUM if numeral is None else numeral.text)
                position += 1
                continue
            end = _longest_number(notation, tokens, position)
            numeral = notation.read(tokens[position:end]) if end else None
            written.append(numeral.text if numeral is not None else "".join(tokens[position : position + 1]))
            position = end or position + 1
        return (", " if implied_commas else " ").join(written)

    if keeps_subwords and _subwords_beside(notation):
        # The subwords already say the number: the [NUM] beside them is left out, unless it asks for one.
        return re.sub(
            rf" ?{_MARKS.pattern}", lambda m: "" if next(queue, None) is not None else f" {NUM}", text
        ).strip()
    return re.sub(rf"{_MARKS.pattern}(?:\s*{_MARKS.pattern})*", one_run, text)


def _subwords_beside(notation: Notation) -> bool:
    from numerate.numeral import Numeral

    return any(not piece.own for piece in notation.write(Numeral("1", 0, 1, 1.0)))


def _longest_number(notation: Notation, tokens: list[str], begin: int) -> int:
    """Where the longest number that begins at `begin` ends; 0 if none does."""
    best, position = 0, begin
    while True:
        legal = notation.legal_next(tokens[begin:position])
        if END in legal and position > begin:
            best = position
        if position >= len(tokens) or tokens[position] not in legal:
            return best
        position += 1
