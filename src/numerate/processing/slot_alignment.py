"""Slots of a tokenizer's batch: which of its tokens write which number."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerate.processing.rewriter import Rewritten

__all__ = ["align", "original_offsets"]

_SHORT = 256
"""Tokens of an encoding up to which searching its lists costs less than copying them."""


def align(
    batch: Any, changed: list[list[list[Rewritten]]], split: bool, space: int | None = None
) -> tuple[dict[str, Any], list[Any]]:
    """Adds slots and scales to a tokenizer's batch and maps its offsets back; returns the fields and the numbers.

    `changed` is the tokenizer's input: the rewritten words of each text of each sequence; one "word" if not `split`.
    `space` is the token of a space that counts as part of the number behind it; see `Rewriter`. A text that overflows
    has several rows, each with the numbers that it shows.
    """
    data, found = dict(batch.data), []
    samples = data.get("overflow_to_sample_mapping") or range(len(batch.encodings))
    data["number_slots"], data["number_scale"] = [], []
    for row, (encoding, sample) in enumerate(zip(batch.encodings, samples, strict=True)):
        slots, present = [0] * len(data["input_ids"][row]), []
        scales, of = [0] * len(slots), _Tokens(encoding)
        for sequence, texts in enumerate(changed):
            owned = 0
            for index, word in enumerate(texts[sample]):
                for number, (begin, end, numeral) in enumerate(word.slots):
                    tokens = of.text(sequence, index if split else None, begin, end)
                    # Truncated, so that its number is dropped, too; or its only token belongs to another number.
                    if tokens is None or tokens[1] <= owned:
                        continue
                    start, owned = max(tokens[0], owned), tokens[1]
                    present.append(numeral)
                    slots[start:owned] = [len(present)] * (owned - start)
                    if word.beside:
                        written = of.text(sequence, index if split else None, *word.beside[number])
                        for token in range(*written) if written is not None else ():
                            slots[token] = slots[token] or -len(present)
                        start = start if written is None else written[0]
                    if numeral is not None and not split and start and of.ids[start - 1] == space:
                        # A token of its own, unless another space belongs to the number's first token.
                        joined = of.names[start].startswith(of.names[start - 1])
                        slots[start - 1] = slots[start - 1] or (0 if joined else -len(present))
                    if word.scales and (scale := word.scales[number]) is not None:
                        part = of.text(sequence, index if split else None, *scale[:2])
                        _mark_scale(slots, scales, part, of.offsets, scale, len(present))
        if "offset_mapping" in data:
            data["offset_mapping"][row] = original_offsets(encoding, changed, sample, split)
        data["number_slots"].append(slots)
        data["number_scale"].append(scales)
        found.append(present)
    return data, found


def _mark_scale(
    slots: list[int], scales: list[int], tokens: tuple[int, int] | None, offsets: Any,
    scale: tuple[int, int, int], number: int,
) -> None:  # fmt: skip
    """Writes twice the power of ten to the tokens of a percent sign or scale word, plus 1 if they must stay.

    They must stay if one of them also writes text behind the number, as `%,` does. Nothing is written if the first one
    also writes digits, or if truncation has cut off the digits.
    """
    begin, end, power = scale
    if tokens is None:
        return
    first, last = tokens
    while first and abs(slots[first - 1]) == number and offsets[first - 1][0] >= begin:
        first -= 1  # the space before a word, which may be a token without characters
    if not first or offsets[first][0] < begin or any(abs(slots[token]) != number for token in range(first - 1, last)):
        return
    stays = offsets[last - 1][1] > end
    for token in range(first, last):
        scales[token] = 2 * power + stays
    if stays:  # the number's vector does not belong on the text behind it
        slots[last - 1] = -number


def original_offsets(
    encoding: Any, changed: list[list[list[Rewritten]]], sample: int, split: bool
) -> list[tuple[int, int]]:
    """The span in the original text of each token of an encoding; (0, 0) for special tokens."""
    spans: list[tuple[int, int]] = []
    for (begin, end), sequence, index in zip(encoding.offsets, encoding.sequence_ids, encoding.word_ids, strict=True):
        if sequence is None:
            spans.append((0, 0))
            continue
        word = changed[sequence][sample][index if split else 0]
        spans.append((word.original(begin), word.original(end, end=True)))
    return spans


class _Tokens:
    """Finds the tokens of parts of a text in an encoding.

    An encoding copies its lists at each access and searches them from the beginning. That is faster for a short text;
    in a text of many numbers, each list is made once, and searched by bisection.
    """

    def __init__(self, encoding: Any) -> None:
        self._encoding: Any = encoding
        self._is_short = len(encoding) <= _SHORT
        self._known: dict[tuple[int, int | None], tuple[list[int], list[int], list[int]]] = {}
        self._ids: list[int] = []
        self._names: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._words: dict[tuple[int, int], list[int]] | None = None

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        self._ids = self._ids or self._encoding.ids
        return self._ids

    @property
    def names(self) -> list[str]:
        """The tokens."""
        self._names = self._names or self._encoding.tokens
        return self._names

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The span of each token in its text (or word)."""
        self._spans = self._spans or self._encoding.offsets
        return self._spans

    def text(self, sequence: int, word: int | None, begin: int, end: int) -> tuple[int, int] | None:
        """First and last-plus-one token of the characters [begin, end) of a text or a word; None if there is none.

        All tokens that overlap with the characters: a character may have several tokens, such as its bytes.
        """
        if self._is_short and word is None:
            find = self._encoding.char_to_token
            found = [find(begin, sequence), find(end - 1, sequence)]
            if None in found:  # truncated, or a space without a token
                found = [token for char in range(begin, end) if (token := find(char, sequence)) is not None]
            return (found[0], self._through(sequence, found[-1], end) + 1) if found else None
        tokens, begins, ends = self._known.get((sequence, word)) or self._of(sequence, word)
        first, last = bisect_right(ends, begin), bisect_left(begins, end) - 1
        while first <= last and begins[first] == ends[first]:  # a token without characters
            first += 1
        while last >= first and begins[last] == ends[last]:
            last -= 1
        return (tokens[first], tokens[last] + 1) if first <= last else None

    def _through(self, sequence: int, last: int, end: int) -> int:
        """The last token of the characters before `end`; `last` is the first one of the last of them."""
        while last + 1 < len(self._encoding) and self._encoding.token_to_sequence(last + 1) == sequence:
            begin, until = self._encoding.token_to_chars(last + 1)
            if not begin < min(end, until):
                break
            last += 1
        return last

    def _of(self, sequence: int, word: int | None) -> tuple[list[int], list[int], list[int]]:
        """The tokens of a text or a word, and where each begins and ends."""
        if word is None:
            tokens = [token for token, own in enumerate(self._encoding.sequence_ids) if own == sequence]
        else:
            tokens = self._of_words().get((sequence, word), [])
        spans = self.offsets
        # They grow, but for characters that a normaliser has put in another order.
        begins = [*accumulate([spans[token][0] for token in tokens], max)]
        self._known[sequence, word] = known = tokens, begins, [*accumulate([spans[token][1] for token in tokens], max)]
        return known

    def _of_words(self) -> dict[tuple[int, int], list[int]]:
        """The tokens of each word of each text, whose offsets begin again with each word."""
        if self._words is None:
            self._words = {}
            for token, place in enumerate(zip(self._encoding.sequence_ids, self._encoding.word_ids, strict=True)):
                self._words.setdefault(place, []).append(token)
        return self._words
