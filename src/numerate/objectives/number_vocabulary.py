"""Number tokens of a tokenizer with their values, and the groups of label tokens that form one number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NumberSpans", "NumberVocabulary", "find_spans"]

_NOTHING, _DIGITS, _POINT, _MINUS, _PLUS, _EXPONENT = range(6)
_ROLES = {".": _POINT, "-": _MINUS, "−": _MINUS, "+": _PLUS, "e": _EXPONENT, "E": _EXPONENT}
_SPACE = ("▁", "Ġ", " ")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)", re.ASCII)


@dataclass(frozen=True, eq=False)
class NumberVocabulary:
    """The K number tokens of a vocabulary with S ids.

    Tables over all ids have one more row for labels that are not tokens of the tokenizer: ignored labels, the tokens
    that numerate adds, and ids beyond the vocabulary.

    Attributes:
        ids: (K,) ids of the number tokens, ascending.
        values: (K,) float64 values of the number tokens.
        widths: (K,) numbers of digits; 0 for a token with a point or a sign.
        minus: (L,) ids of the minus signs.
        column: (S + 1,) index of each token among the K number tokens; -1 for others.
        role: (S + 1,) uint8 role of each token within a number: digits, point, sign or exponent mark.
        spaced: (S + 1,) whether the token includes a leading space, so that it starts something new.
        fresh: (S + 1,) whether it starts a word, in a vocabulary that marks continuations (WordPiece).
        wordlike: (S + 1,) whether a minus right after the token is a hyphen.

    Example:
        >>> table = NumberVocabulary.of_vocabulary({"a": 0, "7": 1, "Ġ7": 2, "12": 3, "nan": 4, "٣": 5})
        >>> table.ids.tolist(), NumberVocabulary.of_vocabulary({"7": 0, "12": 1}, multi_digit=True).values.tolist()
        ([1, 2], [7.0, 12.0])
    """

    ids: Tensor
    values: Tensor
    widths: Tensor
    minus: Tensor
    column: Tensor
    role: Tensor
    spaced: Tensor
    fresh: Tensor
    wordlike: Tensor

    @classmethod
    def of(cls, tokenizer: Any, multi_digit: bool = False) -> Self:
        """Finds the number tokens of a tokenizer: 0 to 9, and with `multi_digit` also `123`, `3.5` and `-1`.

        The tokenizer, anything with `get_vocab()`, is not changed; special tokens are not number tokens.
        """
        special = set(getattr(tokenizer, "all_special_ids", ()))
        vocabulary = {token: index for token, index in tokenizer.get_vocab().items() if index not in special}
        model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
        is_wordpiece = type(model).__name__ == "WordPiece"
        return cls.of_vocabulary(vocabulary, multi_digit, "##" if is_wordpiece else None)

    @classmethod
    def of_vocabulary(
        cls, vocabulary: Mapping[str, int], multi_digit: bool = False, continuing: str | None = None
    ) -> Self:
        """Finds the number tokens among token strings; `continuing` is the prefix of tokens within a word, if any."""
        size = max(vocabulary.values(), default=-1) + 1
        # Lists, because setting single items of tensors takes seconds for 150,000 tokens.
        role = [_NOTHING] * (size + 1)
        spaced, fresh, wordlike = ([False] * (size + 1) for _ in range(3))
        found: list[tuple[int, float, int]] = []
        for token, index in vocabulary.items():
            bare = token[1:] if token.startswith(_SPACE) else token
            inside = continuing is not None and bare.startswith(continuing) and len(bare) > len(continuing)
            bare = bare[len(continuing or "") :] if inside else bare
            if not bare:
                continue
            spaced[index], fresh[index] = token.startswith(_SPACE), continuing is not None and not inside
            # Without spaces "was -5" and "F-16" look alike; a minus is certainly a hyphen only after a number.
            wordlike[index] = bare[-1].isalnum() or bare[-1] in ")]%" if continuing is None else bare[-1].isdigit()
            role[index] = _ROLES.get(bare, _NOTHING)
            if not _NUMBER.fullmatch(bare) or not math.isfinite(value := float(bare)):
                continue
            digits = len(bare) if bare.isdigit() else 0
            if multi_digit or digits == 1:
                found.append((index, value, digits))
                role[index] = _DIGITS if digits else _NOTHING
        found.sort()
        ids = torch.tensor([index for index, _, _ in found], dtype=torch.int64)
        column = torch.full((size + 1,), -1)
        column[ids] = torch.arange(len(ids))
        values = torch.tensor([value for _, value, _ in found], dtype=torch.float64)
        widths = torch.tensor([digits for _, _, digits in found], dtype=torch.int64)
        roles = torch.tensor(role, dtype=torch.uint8)
        minus = (roles == _MINUS).nonzero()[:, 0]
        return cls(ids, values, widths, minus, column, roles, *map(torch.tensor, (spaced, fresh, wordlike)))

    def to(self, device: torch.device) -> Self:
        """A copy on another device."""
        return type(self)(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})

    def within(self, width: int) -> Self:
        """A copy without the tokens whose ids are beyond logits of this width."""
        kept, gone = self.ids < width, torch.arange(len(self.role), device=self.ids.device) >= width
        return replace(
            self, ids=self.ids[kept], values=self.values[kept], widths=self.widths[kept],
            minus=self.minus[self.minus < width], column=self.column.masked_fill(gone, -1),
            role=self.role.masked_fill(gone, _NOTHING),
        )  # fmt: skip

    def rows(self, labels: Tensor) -> Tensor:
        """Row of each label in the tables: the last row for labels that are not tokens."""
        last = len(self.role) - 1
        return torch.where((labels >= 0) & (labels < last), labels, last)


@dataclass(frozen=True, eq=False)
class NumberSpans:
    """The R runs of digits in a batch of labels: numbers, and exponents as runs of their own.

    Row 0 of the tables over runs is unused.

    Attributes:
        digits: (B, T) which labels are digits of a number.
        run: (B, T) run of each digit, from 1; 0 elsewhere.
        place: (B, T) power of ten of the label's *first* digit, without the exponent.
        top: (R + 1,) power of ten of the run's first digit.
        sign_at: (R + 1,) flat position that decides the sign: that of the sign if there is one, or of the first digit.
        negative: (R + 1,) whether there is a minus.
        exponent: (R + 1,) the run that is the exponent of this one; 0 for none.
        is_exponent: (R + 1,) whether the run is an exponent.
    """

    digits: Tensor
    run: Tensor
    place: Tensor
    top: Tensor
    sign_at: Tensor
    negative: Tensor
    exponent: Tensor
    is_exponent: Tensor


def find_spans(labels: Tensor, vocabulary: NumberVocabulary) -> NumberSpans:
    """Groups labels into numbers: digits, one decimal point between digits, a sign before, an exponent after.

    A token with a leading space starts a new number, and so does what follows a second point (`1.2.3` is 1.2 and 3). A
    minus after a word or a number is a hyphen. There is no loop over tokens.

    Args:
        labels: (B, T) token ids; ignored labels must be negative.
        vocabulary: Number tokens, on the same device.

    Example:
        >>> letters = {char: index for index, char in enumerate("0123456789.-e ")}
        >>> ids = torch.tensor([[letters[char] for char in "-12.5e-3 7"]])
        >>> spans = find_spans(ids, NumberVocabulary.of_vocabulary(letters))
        >>> spans.run.tolist(), spans.place.tolist(), spans.exponent.tolist()
        ([[0, 1, 1, 0, 1, 0, 0, 2, 0, 3]], [[0, 1, 0, 0, -1, 0, 0, 0, 0, 0]], [0, 2, 0, 0])
    """
    rows = vocabulary.rows(labels)
    role, spaced, fresh = vocabulary.role[rows], vocabulary.spaced[rows], vocabulary.fresh[rows]
    digits = role == _DIGITS
    continuing, joined = digits & ~spaced & ~fresh, digits & ~spaced
    inner = (role == _POINT) & ~spaced & _back(digits) & _ahead(joined)
    start = _starts(digits, continuing, joined, inner)
    # In a sequence such as 1.2.3.4, every second point ends a number.
    inner = inner & (_since(inner.long(), start | ~(digits | inner)) % 2 == 1)
    start = _starts(digits, continuing, joined, inner)
    run = start.flatten().cumsum(0).reshape(labels.shape) * (digits | inner)
    count = int(start.sum())
    column = vocabulary.column[rows].clamp_min(0)
    width = torch.where(digits, vocabulary.widths[column] if len(vocabulary.widths) else 0, 0)
    before = _since(width, start) - width
    fraction = (_since(inner.long(), start) > 0) & digits
    whole = _per_run(run, torch.where(fraction, 0, width), count)
    place = torch.where(digits, whole[run] - 1 - before, 0)
    has_point = _per_run(run, inner.long(), count) > 0

    position = torch.arange(labels.numel(), device=labels.device).reshape(labels.shape)
    minus, sign = role == _MINUS, (role == _MINUS) | (role == _PLUS)
    # An exponent mark follows digits and is followed by a run without a point, with or without a sign.
    mark = (role == _EXPONENT) & ~spaced & ~fresh & _back(digits)
    plain, signed = start & continuing & _back(mark), start & joined & _back(sign & ~spaced & _back(mark))
    follows = (plain | signed) & ~has_point[run]
    owner = torch.where(plain, _back(run, 2), _back(run, 3))
    exponent = torch.zeros(count + 1, dtype=torch.int64, device=labels.device)
    exponent[owner[follows]] = run[follows]
    is_exponent = torch.zeros(count + 1, dtype=torch.bool, device=labels.device)
    is_exponent[run[follows]] = True
    hyphen = _back(vocabulary.wordlike[rows]) & ~spaced
    has_sign = start & joined & (_back(sign & ~hyphen) | signed)
    has_minus = has_sign & _back(minus)
    sign_at = torch.cat([position.new_zeros(1), (position - has_sign.long())[start]])
    negative = torch.cat([has_minus.new_zeros(1), has_minus[start]])
    top = torch.cat([place.new_zeros(1), place[start]])
    run = torch.where(digits, run, 0)
    return NumberSpans(digits, run, place, top, sign_at, negative, exponent, is_exponent)


def _back(values: Tensor, by: int = 1) -> Tensor:
    """Values shifted right by `by` places in each row; 0 or False at the start."""
    return torch.cat([torch.zeros_like(values[:, :by]), values[:, :-by]], dim=1)


def _ahead(values: Tensor) -> Tensor:
    return torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], dim=1)


def _starts(digits: Tensor, continuing: Tensor, joined: Tensor, inner: Tensor) -> Tensor:
    """Digits that start a run: those that continue neither a digit nor a decimal point."""
    return digits & ~((continuing & _back(digits)) | (joined & _back(inner)))


def _since(values: Tensor, start: Tensor) -> Tensor:
    """Running sum within each row that restarts, including the value itself, where `start` is true."""
    total = values.cumsum(1)
    at_start = torch.where(start, total - values, torch.zeros_like(total))
    return total - at_start.cummax(1).values


def _per_run(run: Tensor, values: Tensor, count: int) -> Tensor:
    total = torch.zeros(count + 1, dtype=torch.int64, device=run.device)
    return total.index_add_(0, run.flatten(), values.flatten().to(torch.int64))
