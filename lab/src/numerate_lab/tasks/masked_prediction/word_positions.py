"""Word positions to predict: the same tokens of a sentence for every encoding.

Positions are character spans of the tokens of the plain tokenizer, so that models with different notations of numbers
predict the same words. Excluded are special and unknown tokens, parts of numbers, tokens of digits only, and full
stops, as in Thawani et al. 2021.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.processing.encoding import NumberCollator
from numerate.processing.processor import NumberProcessor
from numerate.reading import make_reader
from numerate_lab.tasks.masked_prediction.number_sentences import AnnotatedReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.reading.base import Reader
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = ["NEAR", "Encoded", "WordPositions", "encode", "unit_of", "with_reader"]

NEAR = 3
"""Maximum distance in tokens of words `near` a number."""
NO_NUMBER = -10_000
"""Magnitude of sentences without an annotated number."""
_readers = (make_reader("luna"), make_reader("standard"))


@dataclass(frozen=True, eq=False)
class WordPositions:
    """N words to predict, in reading order, of S sentences.

    Attributes:
        sentence: (N,) int64, index of the sentence, ascending.
        start: (N,) int64, first character without white space; with `end`, unique within a sentence.
        end: (N,) int64, character after the last.
        target: (N,) int64, token id.
        labels: (N,) bool by name: `next`, the token right after the annotated number; `unit`, tokens of its unit, or of
            the word after it if the data names none; `whole`, unit words of a single token (in `mln`, the piece `##n`
            reveals `ml`); `near`, at most three tokens from the number; `other`, not `unit`.
        magnitude: (N,) int64, floor(log10 |number|) of the annotated number; `NO_NUMBER` for none and for 0.
        lengths: (S,) int64, number of tokens.

    Example:
        >>> positions = WordPositions.of(sentences, tokenizer)                     # doctest: +SKIP
        >>> sentences[0].text[positions.start[0] : positions.end[0]]               # doctest: +SKIP
        'it'
    """

    sentence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    target: np.ndarray
    labels: dict[str, np.ndarray]
    magnitude: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, sentences: Sequence[NumberSentence], tokenizer: Any, own: bool = False) -> WordPositions:
        """Finds the positions with the plain tokenizer of the model.

        With `own`, parts of numbers except digits are included; encodings then differ in the words that they have
        tokens for.
        """

        @functools.cache
        def skipped(token: int) -> bool:  # full stops and tokens of digits
            text = tokenizer.decode([token]).strip().removeprefix("##").strip()
            return text in ("", ".") or text.isdecimal()

        texts = [sentence.text for sentence in sentences]
        batch = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True) if texts else {}
        special = set(tokenizer.all_special_ids)
        rows: list[tuple[int, ...]] = []
        for index, sentence in enumerate(sentences):
            taken = bytearray() if own else _taken(sentence)
            spans = [_stripped(sentence.text, *span) for span in batch["offset_mapping"][index]]
            number = sentence.numeral
            places = [i for i, (a, b) in enumerate(spans) if number is not None and a < number.end and b > number.start]
            first, last = (places[0], places[-1]) if places else (-1, -1)
            behind = _unit_span(sentence)
            power = NO_NUMBER
            if number is not None and number.value and math.isfinite(number.value):
                power = math.floor(math.log10(abs(number.value)))
            for place, (token, (start, end)) in enumerate(zip(batch["input_ids"][index], spans, strict=True)):
                if token in special or start >= end or skipped(token) or taken.find(1, start, end) >= 0:
                    continue
                away = 10**6 if first < 0 else max(first - place, place - last)
                unit = behind is not None and start < behind[1] and end > behind[0]
                after = first >= 0 and place == last + 1
                letters = sentence.text[max(start - 1, 0) : start], sentence.text[end : end + 1]
                whole = unit and not any(map(str.isalpha, letters))
                rows.append((index, start, end, token, after, unit, whole, away <= NEAR, power))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 9).T
        labels = dict(zip(("next", "unit", "whole", "near"), columns[4:8].astype(bool), strict=True))
        lengths = np.array([len(row) for row in batch["input_ids"]] if texts else [], dtype=np.int64)
        index, starts, ends, targets, powers = columns[[0, 1, 2, 3, 8]]
        return cls(index, starts, ends, targets, labels | {"other": ~labels["unit"]}, powers, lengths)

    def __len__(self) -> int:
        return len(self.sentence)

    def strata(self) -> dict[str, np.ndarray]:
        """All reported groups of positions: (N,) bool by name, `all` first, magnitudes as `1e3`."""
        found = {"all": np.ones(len(self), dtype=bool)} | self.labels
        powers = [power for power in np.unique(self.magnitude).tolist() if power != NO_NUMBER]
        found |= {f"1e{power}": self.magnitude == power for power in powers}
        return found

    def moved(self, before: Sequence[NumberSentence], after: Sequence[NumberSentence]) -> WordPositions:
        """The same positions after `NumberSentence.with_number` or `scaled` changed the sentences `before`."""
        ends = np.array([0 if s.numeral is None else s.numeral.end for s in before], dtype=np.int64)
        shift = np.array([len(b.text) - len(a.text) for a, b in zip(before, after, strict=True)], dtype=np.int64)
        move = np.where(self.start >= ends[self.sentence], shift[self.sentence], 0)
        return replace(self, start=self.start + move, end=self.end + move)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Sentences in the notation of one model.

    Attributes:
        rows: Processed texts for the collator.
        places: (N,) int64, token index of each position; -1 if this notation has no such token.
        number: (S,) int64, index of the annotated number in the number table of its row; -1 if missing.
        collate: Pads rows to a batch.
    """

    rows: list[dict[str, Any]]
    places: np.ndarray
    number: np.ndarray
    collate: NumberCollator


def encode(
    processor: NumberProcessor, sentences: Sequence[NumberSentence], positions: WordPositions,
    numbers: str = "annotated", max_tokens: int = 128,
) -> Encoded:  # fmt: skip
    """Processes sentences with a model's processor, which is not changed, and locates the positions in the result.

    Numbers in the processor's notation are the `annotated` one, as in the papers, or `all`. Longer rows than
    `max_tokens` are truncated.
    """
    if numbers not in ("annotated", "all"):
        raise ValueError(f"numbers must be 'annotated' or 'all', got {numbers!r}")
    rows: list[Any] = [None] * len(sentences)
    number = np.full(len(sentences), -1, dtype=np.int64)
    at: dict[tuple[int, ...], int] = {}
    for part in _rounds(sentences):
        chosen = [sentences[index] for index in part]
        reader = AnnotatedReader(chosen, processor.reader if numbers == "all" else None, processor.kinds)
        texts = [sentence.text for sentence in chosen]
        options: dict[str, Any] = {"return_offsets_mapping": True, "truncation": True, "max_length": max_tokens}
        batch = with_reader(processor, reader)(texts, **options)
        spans, found = batch.pop("offset_mapping"), batch.numerals
        for line, (index, sentence) in enumerate(zip(part, chosen, strict=True)):
            rows[index] = row = {key: batch[key][line] for key in batch}
            for place, numeral in enumerate(found[line]):
                if sentence.numeral is not None and numeral is not None and numeral.start == sentence.numeral.start:
                    number[index] = place
            tokens = zip(spans[line], row["input_ids"], row["number_slots"], strict=True)
            for place, ((start, end), token, slot) in enumerate(tokens):
                if not slot and end > start:
                    at[(index, *_stripped(sentence.text, start, end), token)] = place
    wanted = np.stack([positions.sentence, positions.start, positions.end, positions.target], axis=1).tolist()
    places = np.array([at.get(tuple(key), -1) for key in wanted], dtype=np.int64)
    return Encoded(rows, places, number, NumberCollator(processor.tokenizer))


def with_reader(processor: NumberProcessor, reader: Reader, kinds: Iterable[str] | None = None) -> NumberProcessor:
    """A processor with another reader and other kinds of numbers."""
    return NumberProcessor(
        processor.tokenizer, reader, processor.notation, kinds=kinds, written=processor.written,
        scaling=processor.scaling, first_id=processor.first_id, implied_commas=processor.implied_commas,
        spelled_units=processor.spelled_units,
    )  # fmt: skip


def _rounds(sentences: Sequence[NumberSentence]) -> list[list[int]]:
    """Groups of sentences with different texts, as `AnnotatedReader` requires."""
    seen, rounds = Counter(), defaultdict(list)
    for index, sentence in enumerate(sentences):
        rounds[seen[sentence.text]].append(index)
        seen[sentence.text] += 1
    return list(rounds.values())


def _taken(sentence: NumberSentence) -> bytearray:
    """Marks with 1 the characters that any reader counts as part of a number.

    Letters that a reader adds to the annotated number are its unit and remain 0: the `mln` of `5 mln`.
    """
    text, own = sentence.text, sentence.numeral
    taken = bytearray(len(text))
    spans = [(span[0], span[1]) for reader in _readers for span in reader.spans(text)]
    for start, end in spans:
        taken[start:end] = b"\x01" * (end - start)
    if own is not None:
        for start, end in spans:
            if start < own.end and end > own.start:
                for at in range(start, end):
                    taken[at] &= not (text[at].isalpha() or text[at] == "%")
        taken[own.start : own.end] = b"\x01" * (own.end - own.start)
    return taken


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without surrounding white space, which only some tokenizers include."""
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return start, start + len(text[start:end].rstrip())


def unit_of(sentence: NumberSentence) -> str | None:
    """Unit of the annotated number: from the data, or else the word after the number.

    Example:
        >>> from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
        >>> unit_of(sentence_of_row({"text": "It paid 1.5 Mln dlrs.", "offset": 8, "length": 3, "number": 1.5}))
        'mln'
    """
    if sentence.unit is not None:
        return sentence.unit
    span = _unit_span(sentence)
    return None if span is None else sentence.text[slice(*span)].lower()


def _unit_span(sentence: NumberSentence) -> tuple[int, int] | None:
    """Span of the unit after the annotated number, or of the word after it if the data names none."""
    if sentence.numeral is None:
        return None
    text, start = sentence.text, sentence.numeral.end
    start = next((at for at in range(start, len(text)) if not (text[at].isspace() or text[at] == "-")), len(text))
    if sentence.unit is not None and text.startswith(sentence.unit, start):
        return start, start + len(sentence.unit)
    letters = start + text.startswith("%", start)
    end = next((at for at in range(letters, len(text)) if not text[at].isalpha()), len(text))
    return (start, end) if end > start else None
