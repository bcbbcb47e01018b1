"""Rewrites the numbers of a text in a notation before it is tokenized, and restores them after decoding."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from numerate.notation.base import END, NUM, Notation
from numerate.numerals.numeral import Numeral
from numerate.processing.unit_spellings import spelled_out, unit_spellings

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BOUNDARY", "COMMAS", "MAX_MARKS", "Leading", "Rewriter", "Rewritten", "mark", "mark_index"]

_LAST = 0x10FFFD
MAX_MARKS = 0xFFFE
"""The largest number of tokens of our own: the size of a plane of private characters."""
_ASKED = re.compile(re.escape(NUM))
BOUNDARY = "\U0001d200"
"""A rare character at which the tokenizer splits a text and which it then removes: the text that touches a number
(`1960s`, `£2`) has tokens of its own, so that it stays when the number is hidden."""
COMMAS = (",", ", ")
"""Texts between two numbers that are left out if commas are implied."""


def mark(index: int) -> str:
    """The private character that represents our token of this index in a rewritten text."""
    return chr(_LAST - index)


def mark_index(char: str) -> int:
    """The index of the token that a mark represents."""
    return _LAST - ord(char)


@dataclass(frozen=True)
class Leading:
    """A space that a tokenizer adds before every section of text, and that we write ourselves at the right places only.

    Attributes:
        char: The space, or the character that the tokenizer uses for it.
        at_start: Whether we write it at the beginning of a text; otherwise the tokenizer does.
        unless: Characters before which it is not written.
        tokens: The tokenizer's own added tokens, after which it is written, too; None if there are none.
        normalizer: The tokenizer's normalizer, which may produce one of the characters in `unless`.
    """

    char: str
    at_start: bool
    unless: str
    tokens: re.Pattern[str] | None
    normalizer: Any = None

    def places(self, text: str) -> list[int]:
        """The offsets at which the character is inserted."""
        starts, taken = [0] if self.at_start else [], set()
        if self.tokens is not None:
            spans = [match.span() for match in self.tokens.finditer(text)]
            starts, taken = starts + [end for _, end in spans], {begin for begin, _ in spans}
        starts = [at for at in starts if at < len(text) and at not in taken and text[at] not in self.unless]
        if self.normalizer is None or not self.unless:
            return starts
        return [at for at in starts if self.normalizer.normalize_str(text[at])[:1] not in (*self.unless, "")]


@dataclass
class Rewritten:
    """A text with its numbers rewritten.

    Attributes:
        text: The rewritten text, for the tokenizer.
        slots: (begin, end, numeral) of each part of `text` that gets a number's vector; the numeral is None for a
            number that is asked for.
        beside: (begin, end) of everything that writes each of these numbers, if that is more than its slot; else empty.
        scales: (begin, end, power of ten) of the percent sign or scale word of each of these numbers; else None.
        cuts: (offset in `text`, offset in the original, length in `text`, length in the original) of each change.
    """

    text: str
    slots: list[tuple[int, int, Numeral | None]] = field(default_factory=list)
    beside: list[tuple[int, int]] = field(default_factory=list)
    scales: list[tuple[int, int, int] | None] = field(default_factory=list)
    cuts: list[tuple[int, int, int, int]] = field(default_factory=list)

    def original(self, offset: int, end: bool = False) -> int:
        """Maps an offset to the original text; inside a change, to the beginning (or end) of the change."""
        index = bisect.bisect_right(self.cuts, (offset - 1 if end else offset, float("inf"))) - 1
        if index < 0:
            return offset
        new, old, new_length, old_length = self.cuts[index]
        if offset < new + new_length or (end and offset == new + new_length):
            return old + old_length if end else old
        return offset - new - new_length + old + old_length


class Rewriter:
    """Rewrites numerals for a tokenizer that has our marks as tokens, and restores them in decoded texts.

    Args:
        notation: How numerals are written.
        own_tokens: Our tokens, [NUM] first.
        implied_commas: Leave out a comma between two numerals.
        leading: The space to insert before sections of text.
        space: Id of a space, if the tokenizer makes one token of a space and the digits after it. Then the space before
            a number that is asked for is part of its [NUM], as it would be part of the number.
        joins_punctuation: Whether the tokenizer may make one token of digits and ASCII punctuation.
        spelled_units: Write short unit and scale words as usual; see `unit_spellings`.
    """

    def __init__(
        self, notation: Notation, own_tokens: Sequence[str], implied_commas: bool = False,
        leading: Leading | None = None, space: int | None = None, joins_punctuation: bool = False,
        spelled_units: bool = False,
    ) -> None:  # fmt: skip
        self.notation, self.own_tokens = notation, tuple(own_tokens)
        self.implied_commas, self.leading, self.spelled_units = implied_commas, leading, spelled_units
        if len(self.own_tokens) > MAX_MARKS:
            raise ValueError(f"a notation may have at most {MAX_MARKS} tokens of its own, got {len(self.own_tokens)}")
        self._marks = {token: mark(index) for index, token in enumerate(self.own_tokens)}
        self.any_mark = re.compile(f"[{mark(len(self.own_tokens) - 1)}-{mark(0)}]")
        self._cutting = re.compile(f"({self.any_mark.pattern})")
        sample = notation.write(Numeral("7", 0, 1, 7.0))
        self.has_slots = any(piece.slot for piece in sample)
        self.writes_text = any(not piece.own for piece in sample)
        self.slots_on_text = any(piece.slot and not piece.own for piece in sample)
        self.slots_on_own = any(piece.slot and piece.own and piece.text != NUM for piece in sample)
        self.text_beside_slot = self.has_slots and any(not (p.own or p.slot) for p in sample)
        self.only_marker = [(piece.text, piece.own, piece.slot) for piece in sample] == [(NUM, True, True)]
        self.shows_scale = self.slots_on_text or self.text_beside_slot
        self.space = space if self.has_slots and not sample[0].own else None
        self._isolates, self._joins_punctuation = self.shows_scale and not implied_commas, joins_punctuation
        self._keeps = [piece.text for piece in notation.write(Numeral("7.0", 0, 3, 7.0))] == ["7.0"]
        self._beside = self.writes_text and any(piece.own for piece in sample)
        self._mark_last = bool(sample) and sample[-1].own

    def clean(self, text: str) -> str:
        """Replaces characters that equal our marks by U+FFFD."""
        return text if text.isascii() else self.any_mark.sub("\ufffd", text).replace(BOUNDARY, "\ufffd")

    def rewrite(self, text: str, numerals: Sequence[Numeral]) -> Rewritten:
        """Rewrites the (sorted, disjoint) numerals of a cleaned text, and each literal `[NUM]`, which asks for one."""
        items: list[tuple[int, int, Numeral | str | None]] = [(n.start, n.end, n) for n in numerals]
        if NUM in text:
            asked = (match.span() for match in _ASKED.finditer(text))
            joined = "\0" if self.space is None else " "
            items += [(begin - text.startswith(joined, max(begin - 1, 0)), end, None) for begin, end in asked]
            items.sort(key=lambda item: item[0])
        places = self.leading.places(text) if self.leading is not None else ()
        if places:
            # No space before a section that begins with one of our marks.
            marked = {begin for begin, end, n in items if n is None or not self._begins_with_text(n)}
            items += [(place, place, self.leading.char) for place in places if place not in marked]  # type: ignore[union-attr]
            items.sort(key=lambda item: item[:2])
        spelled = unit_spellings(text) if self.spelled_units else []
        if not items and not spelled:
            return Rewritten(text)
        if self._isolates and (touching := self._touching(text, numerals)):
            items += [(place, place, BOUNDARY) for place in touching]
            items.sort(key=lambda item: item[:2])
        if spelled:  # what belongs to a numeral, as the `pct` of `5 pct`, comes behind it and is passed over
            items = sorted((*items, *spelled), key=lambda item: item[:2])
        if self._keeps and len(items) == len(numerals):
            slots: Any = items if self.slots_on_text else []
            return Rewritten(text, slots, scales=[_scale(n, n.text, begin) for begin, _, n in slots])
        result = Rewritten(text)
        pieces: list[str] = []
        length = done = 0
        behind_number = False
        for begin, end, item in items:
            if begin < done:
                continue
            gap = text[done:begin]
            if behind_number and self.implied_commas and gap in COMMAS and not isinstance(item, str):
                result.cuts.append((length, done, 0, len(gap)))
            else:
                pieces.append(gap)
                length += len(gap)
            written, slot = self._written(item)
            if slot is not None:
                result.slots.append((length + slot[0], length + slot[1], item))  # type: ignore[arg-type]
                if self.text_beside_slot:
                    result.beside.append((length, length + len(written)))
                if self.shows_scale:
                    shown = self._spelled(item.text) if isinstance(item, Numeral) else ""
                    at = written.find(shown) if shown else -1
                    result.scales.append(_scale(item, shown, length + at) if at >= 0 else None)
            if written != text[begin:end]:
                result.cuts.append((length, begin, len(written), end - begin))
            pieces.append(written)
            length += len(written)
            done, behind_number = end, not isinstance(item, str)
        pieces.append(text[done:])
        result.text = "".join(pieces)
        return result

    def _touching(self, text: str, numerals: Sequence[Numeral]) -> list[int]:
        """Offsets at which a number touches text that may be in one token with it."""
        sides = [(n.start, text[n.start - 1]) for n in numerals if n.start]
        sides += [(n.end, text[n.end]) for n in numerals if n.end < len(text)]
        may_join = (char.isalnum() or not char.isascii() or self._joins_punctuation for _, char in sides)
        return sorted({at for (at, char), joins in zip(sides, may_join, strict=True) if joins and not char.isspace()})

    def sections(self, text: str) -> tuple[list[str], list[int]]:
        """The sections of a rewritten text, and the indices of the marks between them."""
        parts = self._cutting.split(text)
        return parts[::2], [mark_index(char) for char in parts[1::2]]

    def plain_sections(self, text: str, starts: Sequence[int], ends: Sequence[int]) -> list[str] | None:
        """The sections between the spans of a cleaned text's numbers, if each is one mark and nothing else changes."""
        if not self.only_marker or NUM in text or (self.leading is not None and self.leading.places(text)):
            return None
        if self.spelled_units and unit_spellings(text):
            return None
        return [text[begin:end] for begin, end in zip((0, *ends), (*starts, len(text)), strict=True)]

    def _begins_with_text(self, item: Numeral | str) -> bool:
        pieces = [] if isinstance(item, str) else self.notation.write(item)
        return not pieces or not pieces[0].own

    def _written(self, item: Numeral | str | None) -> tuple[str, tuple[int, int] | None]:
        """The rewritten form of a numeral (None: asked for; a string: itself), and the part of it that is the slot."""
        if item is None:
            return self._marks[NUM], (0, 1)
        if isinstance(item, str):
            return item, None
        if self._keeps:
            written = self._spelled(item.text)
            return written, (0, len(written)) if self.slots_on_text else None
        written, slot = "", None
        for piece, own, has_slot in self.notation.write(item):
            part = self._marks[piece] if own else self._spelled(piece)
            if has_slot:
                slot = (len(written) if slot is None else slot[0], len(written) + len(part))
            written += part
        return written, slot if slot is not None and slot[1] > slot[0] else None

    def _spelled(self, text: str) -> str:
        return spelled_out(text) if self.spelled_units else text

    def restore(self, text: str, numerals: Sequence[Numeral | None], joint: str = "") -> str:
        """Restores the numbers in a decoded text with our marks in it: the inverse of `rewrite`.

        `numerals` are those of its [NUM] marks, in order; `joint` is what the tokenizer writes between two tokens.
        """
        some, gap = self.any_mark.pattern, re.escape(joint)
        queue = iter(numerals)
        if not self.writes_text:
            return re.sub(f"{some}(?:{gap}{some})*", lambda run: self._restore_run(run.group(), queue, joint), text)
        if len(self.own_tokens) > 1:  # the tokenizer's own digits around a token of ours
            number = rf"(-?(?:{gap})?[0-9]++)"
            around = re.compile(rf"{number}?(?:{gap})?({some})(?:(?:{gap})?{number})?")
            return around.sub(lambda found: self._restore_around(found, queue, joint), text)
        if not self._beside:
            spaced = re.sub(f"(?<=[\\w,;:.)%])(?={self._marks[NUM]})", " ", text) if self.space is not None else text
            return spaced.replace(self._marks[NUM], NUM)  # only numbers that are asked for have a mark
        # The subwords already write the number: the [NUM] beside them is left out, unless it asks for a number.
        pattern = f"({gap})({some})()" if self._mark_last else f"()({some})({gap})"

        def one(found: re.Match[str]) -> str:
            return "" if next(queue, None) is not None else f"{found[1]}{NUM}{found[3]}"

        return re.sub(pattern if joint else f"()({some})()", one, text).replace(self._marks[NUM], NUM)

    def _restore_run(self, run: str, queue: object, joint: str) -> str:
        """Restores a run of marks with only joints between them."""
        tokens = [self.own_tokens[mark_index(char)] for char in (run.split(joint) if joint else run)]
        found: list[tuple[str, Numeral | None]] = []
        position = 0
        while position < len(tokens):
            end = position + 1
            if tokens[position] == NUM:
                numeral = next(queue, None)  # type: ignore[call-overload]
                found.append((NUM if numeral is None else numeral.text, numeral))
            else:
                end = self._longest_number(tokens, position)
                numeral = self.notation.read(tokens[position:end]) if end else None
                end = end or position + 1
                found.append(("".join(tokens[position:end]) if numeral is None else numeral.text, None))
            position = end
        written = found[0][0]
        for (_, before), (text, after) in pairwise(found):
            width = after.start - before.end if before is not None and after is not None else None
            between = ("," if width == 1 else ", ") if self.implied_commas else joint
            written += text if width == 0 else between + text
        return written

    def _restore_around(self, found: re.Match[str], queue: object, joint: str) -> str:
        before, token, behind = found[1], self.own_tokens[mark_index(found[2])], found[3]
        if token == NUM:
            numeral = next(queue, None)  # type: ignore[call-overload]
            return found.group().replace(found[2], NUM if numeral is None else numeral.text)
        pieces = [piece.replace(joint, "") if joint else piece for piece in (before, token, behind) if piece]
        try:
            numeral = self.notation.read(pieces)
        except ValueError:
            numeral = None
        return found.group().replace(found[2], token) if numeral is None else numeral.text

    def _longest_number(self, tokens: list[str], begin: int) -> int:
        """The end of the longest number that begins at `begin`; 0 if there is none."""
        best, position = 0, begin
        while True:
            legal = self.notation.legal_next(tokens[begin:position])
            if END in legal and position > begin:
                best = position
            if position >= len(tokens) or tokens[position] not in legal:
                return best
            position += 1


def _scale(numeral: Any, written: str, begin: int) -> tuple[int, int, int] | None:
    """Span and power of the percent sign or scale word at the end of a numeral that is `written` at `begin`.

    None for a suffix that may be one token with the digits, such as the letter of `10M`.
    """
    suffix = numeral.style.suffix if numeral.power and numeral.special is None else ""
    if not suffix or not numeral.text.endswith(suffix):
        return None
    suffix = written[len(numeral.text) - len(suffix) :]
    if suffix[0].isalnum():
        return None
    end = begin + len(written)
    return end - len(suffix), end, numeral.power
