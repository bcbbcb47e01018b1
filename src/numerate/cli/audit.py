"""`numerate audit`: how a Hugging Face tokenizer splits numbers."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numerate.cli.source import read_texts
from numerate.cli.tally import share
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.reading.base import Reader

__all__ = ["CONTEXTS", "EXAMPLES", "Audit", "load_tokenizer", "made_up_numbers", "numbers_of_file"]

CONTEXTS = {"start of text": "{}", "after a space": "about {}", "after $": "about ${}", "after letters": "about ab{}"}
"""Contexts of generated numbers: a good tokenizer splits a number the same way in each."""

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
"""A folder without any of these has no tokenizer; checked before loading, which takes seconds."""

EXAMPLES = ("7", "42", "2023", "31415", "1234567", "1,234,567", "3.14159", "-0.5", "1.5e-9", "12.5%", "½")

MAX_DIGITS = 12
VERDICT = 0.95
"""Share of the numbers that must be split the same way for the audit to name it."""
DISTINCT = 50_000
"""Maximum number of different numbers that are checked for consistency and round trips."""

_SURROGATES = re.compile("[\ud800-\udfff]")
"""Characters that the backend rejects; each is replaced by one character, so that offsets stay true."""


class Split(NamedTuple):
    """How a tokenizer split one number."""

    pieces: tuple[str, ...]
    """The number's characters in each piece."""
    tokens: int
    """Number of tokens: larger than the number of pieces where one character is several bytes."""
    unknown: bool
    """A piece is the unknown token, or some characters have no token."""
    glued: bool
    """A token also covers characters beside the number."""


@dataclass
class Audit:
    """Statistics of how a fast Hugging Face tokenizer splits numbers."""

    tokenizer: Any
    numbers: int = 0
    tokens: int = 0
    unknown: int = 0
    glued: int = 0
    by_digits: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    ways: Counter[str] = field(default_factory=Counter)
    splits: dict[str, Counter[tuple[str, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The backend gives offsets without warnings about long texts; it must not truncate.
        self._backend = self.tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()

    def split(self, text: str, start: int = 0, end: int | None = None) -> Split:
        """Splits the number `text[start:end]` in its context."""
        return self.split_text(text, [(start, len(text) if end is None else end)])[0]

    def split_text(self, text: str, spans: list[tuple[int, int]]) -> list[Split]:
        """Splits the numbers at sorted, disjoint `spans` of a text, in linear time."""
        encoding = self._backend.encode(_SURROGATES.sub("\ufffd", text))
        rows = zip(encoding.offsets, encoding.ids, encoding.special_tokens_mask, strict=True)
        unknown = self.tokenizer.unk_token_id
        tokens = [
            (start, end, token == unknown) for (start, end), token, special in rows if start < end and not special
        ]
        splits: list[Split] = []
        first = 0
        for start, end in spans:
            while first < len(tokens) and tokens[first][1] <= start:
                first += 1
            splits.append(_split(text, start, end, tokens, first))
        return splits

    def add(self, text: str, spans: list[tuple[int, int]]) -> None:
        """Adds the numbers of one text."""
        for (start, end), split in zip(spans, self.split_text(text, spans), strict=True):
            number = text[start:end]
            digits = sum(map(str.isdecimal, number))
            self.numbers += 1
            self.tokens += split.tokens
            self.unknown += split.unknown
            self.glued += split.glued
            if 1 <= digits <= MAX_DIGITS:
                self.by_digits[digits][0] += 1
                self.by_digits[digits][1] += split.tokens
            if number.isdecimal() and 4 <= digits <= MAX_DIGITS:
                self.ways[_way(split.pieces)] += 1
            if number in self.splits or len(self.splits) < DISTINCT:
                self.splits.setdefault(number, Counter())[split.pieces] += 1

    def result(self, examples: int = 12) -> dict[str, Any]:
        """All figures, ready for JSON; shares are between 0 and 1, or None where nothing was counted."""
        repeated = {number: ways for number, ways in self.splits.items() if ways.total() > 1}
        uneven = {number: ways for number, ways in repeated.items() if len(ways) > 1}
        kept = sum(map(self.keeps, self.splits))
        return {
            "tokenizer": type(self.tokenizer).__name__,
            "vocabulary": len(self.tokenizer),
            "digit_tokens": self.digit_tokens(),
            "numbers": self.numbers,
            "tokens_per_number": share(self.tokens, self.numbers),
            "tokens_by_digits": {digits: tokens / n for digits, (n, tokens) in sorted(self.by_digits.items())},
            "splitting": self._verdict(),
            "splitting_shares": {way: share(count, self.ways.total()) for way, count in self.ways.most_common()},
            "share_inconsistent": share(len(uneven), len(repeated)),
            "share_unknown": share(self.unknown, self.numbers),
            "share_glued": share(self.glued, self.numbers),
            "share_round_trip": share(kept, len(self.splits)),
            "inconsistent": {
                number: [" ".join(pieces) for pieces, _ in ways.most_common()]
                for number, ways in sorted(uneven.items(), key=lambda item: (-len(item[1]), item[0]))[:examples]
            },
            "examples": {text: " ".join(self.split(text).pieces) for text in EXAMPLES},
            "approximate": ["share_inconsistent", "share_round_trip"] if len(self.splits) >= DISTINCT else [],
        }

    def keeps(self, number: str) -> bool:
        """Whether decoding the number's tokens restores the number."""
        ids = self._backend.encode(_SURROGATES.sub("\ufffd", number), add_special_tokens=False).ids
        return self.tokenizer.decode(ids).strip() == number.strip()

    def digit_tokens(self) -> dict[int, int]:
        """Number of tokens of each length that consist of digits only, without the mark of a word's start."""
        digits = {bare for token in self.tokenizer.get_vocab() if (bare := token.lstrip("#Ġ▁ ")).isdecimal()}
        return dict(sorted(Counter(map(len, digits)).items()))

    def _verdict(self) -> str:
        total = self.ways.total()
        if not total:
            return "not seen"
        way, count = self.ways.most_common(1)[0]
        if count >= VERDICT * total:
            return way
        # Numbers whose length is a multiple of three do not show the direction.
        for way in ("threes from the left", "threes from the right"):
            if self.ways[way] and self.ways[way] + self.ways["threes either way"] >= VERDICT * total:
                return way
        return "irregular"


def load_tokenizer(folder: str) -> Any:
    """Loads a tokenizer from a local folder; nothing is downloaded and no code of the folder is run.

    Raises:
        BadInput: There is no fast tokenizer in the folder.
    """
    if not Path(folder).is_dir():
        raise BadInput(f"{folder!r} is no folder; give the folder with tokenizer.json")
    if not any((Path(folder) / name).is_file() for name in TOKENIZER_FILES):
        raise BadInput(f"{folder!r} has no tokenizer: none of {', '.join(TOKENIZER_FILES)} found")
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the loader raises many classes
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise BadInput(f"{folder!r}: the tokenizer cannot be loaded: {reason}") from None
    if not getattr(tokenizer, "is_fast", False):
        raise BadInput(f"{folder!r} has a slow tokenizer, which gives no offsets; convert it to a fast one")
    return tokenizer


def made_up_numbers(per_length: int = 50, seed: int = 0) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Random whole numbers of 1 to 12 digits, each in all `CONTEXTS`."""
    source = random.Random(seed)  # noqa: S311 - a sample for statistics, not for secrets
    for digits in range(1, MAX_DIGITS + 1):
        low = 10 ** (digits - 1) if digits > 1 else 0
        count = min(per_length, 10**digits - low)
        for number in sorted(source.sample(range(low, 10**digits), count)):
            for context in CONTEXTS.values():
                start = context.index("{")
                yield context.format(number), [(start, start + len(str(number)))]


def numbers_of_file(
    path: str, reader: Reader, field: str | None = None, on_position: Callable[[int], None] | None = None
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The texts of a file with numbers, and the numbers' spans."""
    for text in read_texts(path, field, on_position):
        if spans := [(start, end) for start, end, *_ in reader.spans(text)]:
            yield text, spans


def _split(text: str, start: int, end: int, tokens: list[tuple[int, int, bool]], first: int) -> Split:
    pieces: list[str] = []
    unknown = glued = False
    reached, count = start, 0
    for place in range(first, len(tokens)):
        token_start, token_end, is_unknown = tokens[place]
        if token_start >= end:
            break
        count += 1
        unknown |= is_unknown or (token_start > reached and bool(text[reached:token_start].strip()))
        # A leading space in a token is the word mark of byte-level tokenizers, not a neighbour.
        glued |= bool(text[token_start:start].strip()) or bool(text[end : max(end, token_end)].strip())
        piece = text[max(token_start, start) : min(token_end, end)]
        if max(token_start, start) >= reached or not pieces:  # the bytes of one character share its offsets
            pieces.append(piece)
        reached = max(reached, token_end)
    unknown |= reached < end and bool(text[reached:end].strip())
    return Split(tuple(pieces), count, unknown, glued)


def _way(pieces: tuple[str, ...]) -> str:
    """Name of the way in which a whole number was split.

    Example:
        >>> _way(("123", "4")), _way(("1", "234")), _way(("1", "2", "3", "4")), _way(("12", "34"))
        ('threes from the left', 'threes from the right', 'single digits', 'irregular')
    """
    lengths = [len(piece) for piece in pieces]
    if len(lengths) == 1:
        return "whole"
    if set(lengths) == {1}:
        return "single digits"
    left = set(lengths[:-1]) == {3} and lengths[-1] <= 3
    right = set(lengths[1:]) == {3} and lengths[0] <= 3
    if left and right:
        return "threes either way"
    return "threes from the left" if left else "threes from the right" if right else "irregular"
