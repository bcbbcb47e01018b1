"""Objective `masked`: predicts masked tokens and masked numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch.nn import functional

from numerate.embedders.option_checks import check_option, check_within
from numerate.objectives.base import Objective, ObjectiveConfig, Task, Vocabulary
from numerate.objectives.draws import Draws
from numerate.objectives.hiding import hide_numbers
from numerate.processing.number_table import ASKED, GIVEN
from numerate.processing.slot_positions import table_of
from numerate.registry import objectives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.numerals.numeral import Numeral

__all__ = ["Masked", "MaskedConfig", "wanted_numbers"]


@dataclass(frozen=True, kw_only=True)
class MaskedConfig(ObjectiveConfig):
    """Options of `masked`, beside those of every objective.

    LUNA's masking is `joint=False, hide_slot=True, replace=(0.8, 0.1)`.

    Attributes:
        ratio: Share of the tokens that are masked.
        number_ratio: Share of the numbers that are hidden, unless the batch has `number_wanted`.
        what: Mask both numbers and words, or only one of them.
        replace: Shares of the drawn tokens and numbers that become [MASK] (a number: [NUM]) and one random word; the
            rest is kept and predicted, too. By default all are hidden, so that no visible number is predicted. BERT
            uses (0.8, 0.1).
        joint: Hide a number with all its tokens. Without it the sub-words of a masked number are treated as words (as
            in LUNA's paper), and the number can be read from them.
        hide_slot: Write [MASK] instead of [NUM] for a hidden number, so that the input does not show that it is one.
            The token head then learns it: the label of a hidden number is [NUM], as in xVal. Not so with `joint=False`
            and in `distillation`, as in LUNA, where only the number head learns from numbers.
        scale_in_sight: Share of the hidden numbers with a percent sign or scale word whose sign or word stays in the
            text, as in `rose [NUM]%`; then the written number is predicted (3.2), otherwise the value (0.032).
        seed: Seed of the masks of batches with a `sample_id`, which also depend on `epoch` and the sample.
    """

    kind: ClassVar[str] = "masked"
    ratio: float = 0.15
    number_ratio: float = 0.15
    what: Literal["both", "numbers", "words"] = "both"
    replace: tuple[float, float] = (1.0, 0.0)
    joint: bool = True
    hide_slot: bool = False
    scale_in_sight: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("ratio", "number_ratio", "scale_in_sight"):
            check_within(self, name, 0, 1)
        shares = min(self.replace) >= 0 and sum(self.replace) <= 1 + 1e-9
        check_option(shares, self, "replace must be two shares with a sum of at most 1", "replace")


@objectives.register("masked")
class Masked(Objective):
    """Hides numbers and replaces words by [MASK]; the model predicts both.

    A hidden number is one [NUM], whatever its notation: see `numerate.objectives.hiding`. Its head predicts it there,
    and with `hide_slot` the token head predicts that there is a number; its sub-words have left the sequence and are
    not predicted. A model without a number head hides no numbers, unless its notation spells them in tokens that the
    token head predicts (`p10`, `digits`): those are masked one by one, so that a number's length is seen. Padding and
    special tokens are never masked.

    A batch may have two more fields: `number_wanted` (B, M), the numbers to hide instead of random ones (made by
    `wanted_numbers`), and `sample_id` (B,), which makes the masks independent of the batch (see `draws.py`).
    """

    Config = MaskedConfig
    config: MaskedConfig
    learns_slots: ClassVar[bool] = True
    """Whether [NUM] is the label of a number whose slot is hidden."""

    def shown(self, vocabulary: Vocabulary) -> str:
        """What the input shows of a masked number: "nothing", "its length" or "the number"."""
        if vocabulary.predicts_numbers and (self.config.joint or not vocabulary.several_tokens):
            return "nothing"
        return "its length" if vocabulary.spells_numbers else "the number"

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Draws and applies the masks."""
        ids: Tensor = batch["input_ids"]
        if vocabulary.mask_id is None:
            kind = self.config.kind
            raise ValueError(f"objective {kind!r} needs a tokenizer with a mask token: use objective='causal'")
        config, table, slots = self.config, table_of(batch), batch.get("number_slots")
        if slots is None:
            slots = torch.zeros_like(ids)
        plain = _is_plain(ids, vocabulary)
        attention = batch.get("attention_mask")
        if attention is None or attention.dim() != 2:
            attention = torch.ones_like(ids)
        present = attention.bool()
        if not config.joint:
            slots = slots.clamp_min(0)
        draws = Draws(batch.get("sample_id"), present, config.seed, self.epoch)
        ratio = 0.0 if config.what == "numbers" else config.ratio
        hides = vocabulary.predicts_numbers and (config.joint or not vocabulary.several_tokens)
        count = 0 if table is None else table.bits.shape[1]
        # All draws of the usual case at once: each is many small operations.
        sees_scale = batch.get("number_scale") is not None and bool(config.scale_in_sight)
        at_once, of_numbers = hides and sees_scale and config.replace == (1.0, 0.0), 0
        if count:  # a branch, not a sum of truth values: the count may be a symbol of a compiler
            of_numbers = 2 if at_once else 1
        drawn = draws.several(None, *[count] * of_numbers)
        words = (drawn[0] < ratio) & plain & present & (slots == 0)
        masked = None
        if table is not None and count:
            masked = self._chosen(batch, drawn[1]) & (table.given == GIVEN) & table.finite()
        if masked is None or not hides:
            return self._one_by_one(batch, vocabulary, draws, slots, words, masked)
        token: Any = vocabulary.mask_id if config.hide_slot else vocabulary.num_id
        given, seen = masked, ids.masked_fill(words, vocabulary.mask_id)
        if config.replace != (1.0, 0.0):
            token_fate, number_fate = draws.tokens(), draws.numbers(masked.shape[1])
            given = masked & (number_fate < sum(config.replace))
            word = _random_words(draws.tokens(), vocabulary) if config.replace[1] else None
            seen = self._replaced(ids, words, token_fate, word, vocabulary)
            if word is not None:
                at_random = (masked & (number_fate >= config.replace[0])).gather(1, (slots.abs() - 1).clamp_min(0))
                token = torch.where(at_random, word, token)
        in_sight = None
        if sees_scale:
            in_sight = (drawn[2] if at_once else draws.numbers(count)) < config.scale_in_sight
        labels = torch.where(words, ids, torch.full_like(ids, -100))
        plain = batch | {"input_ids": seen, "number_slots": slots, "labels": labels}
        hidden = hide_numbers(plain, given, vocabulary, token=token, in_sight=in_sight)
        labels = hidden.inputs.pop("labels")
        if self.learns_slots and config.hide_slot and config.joint:
            labels = self._with_slots(labels, hidden.inputs, masked, vocabulary)
        share = 1.0 if batch.get("number_wanted") is not None else config.number_ratio
        # With `hide_slot` numbers have labels, too: not more than their tokens.
        tokens = min(1.0, ratio + config.hide_slot * share)
        return Task(hidden.inputs, labels, hidden.targets, masked, hidden.source, table, share, tokens)

    def _with_slots(self, labels: Tensor, inputs: dict[str, Any], masked: Tensor, vocabulary: Vocabulary) -> Tensor:
        """Labels with [NUM] at each masked number: at the token that hides it, or at a [NUM] that was kept."""
        slots = inputs["number_slots"].clamp_min(0)
        asked, drawn = (functional.pad(of, (1, 0)).gather(1, slots) for of in (inputs["number_given"] == ASKED, masked))
        return labels.masked_fill(drawn & (asked | (inputs["input_ids"] == vocabulary.num_id)), vocabulary.num_id)

    def _one_by_one(
        self, batch: dict[str, Any], vocabulary: Vocabulary, draws: Draws, slots: Tensor, words: Tensor,
        masked: Tensor | None,
    ) -> Task:  # fmt: skip
        """Masks single tokens: of spelled numbers without a head, and as LUNA published it (`joint=False`)."""
        config, inputs, ids, table = self.config, dict(batch), batch["input_ids"], table_of(batch)
        of_number, silent, hidden = torch.zeros_like(words), torch.zeros_like(words), words
        index = (slots.abs() - 1).clamp_min(0)
        if masked is not None:
            own = ids == vocabulary.num_id  # other added tokens spell the number, and are predicted
            if not vocabulary.predicts_numbers:
                masked = masked & vocabulary.spells_numbers
            of_number = masked.gather(1, index) & (slots != 0)
            silent = of_number & own  # never predicted as a token: the number head predicts its number
            hidden = hidden | (of_number & ~own)
        labels = torch.where(hidden, ids, torch.full_like(ids, -100))
        covered = hidden | silent if config.hide_slot else hidden
        given, seen = masked, torch.where(covered, vocabulary.mask_id, ids)  # type: ignore[call-overload]
        if config.replace != (1.0, 0.0):
            fate = draws.tokens()
            if masked is not None:
                fates = draws.numbers(masked.shape[1])
                fate = torch.where(of_number, fates.gather(1, index), fate)
                given = masked & (fates < sum(config.replace))
            word = _random_words(draws.tokens(), vocabulary) if config.replace[1] else None
            seen = self._replaced(ids, covered, fate, word, vocabulary)
        if table is not None and given is not None:
            inputs["number_given"] = torch.where(given, torch.full_like(table.given, ASKED), table.given)
        inputs["input_ids"] = seen
        # The tokens of a number are drawn together, so that their share says little about their count.
        by_itself = masked is None or not (vocabulary.predicts_numbers or vocabulary.spells_numbers)
        return Task(inputs, labels, table, masked, token_share=config.ratio if by_itself else 1.0)

    def _replaced(
        self, ids: Tensor, covered: Tensor, fate: Tensor, word: Tensor | None, vocabulary: Vocabulary
    ) -> Tensor:
        """Ids with [MASK], a random word or the same word at the covered tokens, as their fate in [0, 1) decides."""
        masks, randoms = self.config.replace
        seen = torch.where(covered & (fate < masks), vocabulary.mask_id, ids)  # type: ignore[call-overload]
        return seen if word is None else torch.where(covered & (fate >= masks) & (fate < masks + randoms), word, seen)

    def _chosen(self, batch: dict[str, Any], drawn: Tensor) -> Tensor:
        """Numbers to mask, including some that cannot be masked: (B, M) bool."""
        wanted = batch.get("number_wanted")
        if self.config.what == "words":
            return torch.zeros_like(drawn, dtype=torch.bool)
        return drawn < self.config.number_ratio if wanted is None else wanted.to(drawn.device).bool()


def wanted_numbers(rows: Sequence[Sequence[Numeral | None]], *patterns: str) -> Tensor:
    """Makes the batch field `number_wanted` (B, M) from the batch's `numerals`.

    It is True for numbers whose key path matches one of the patterns, with `*` for any characters: `planet*.m`.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> mass, year = Numeral("1", 0, 1, 1.0, path="planet0.m"), Numeral("2", 2, 3, 2.0, path="year")
        >>> wanted_numbers([[mass, year], [year]], "planet*.m")
        tensor([[ True, False],
                [False, False]])
    """
    wanted = torch.zeros(len(rows), max(map(len, rows), default=0), dtype=torch.bool)
    for row, numerals in enumerate(rows):
        for column, numeral in enumerate(numerals):
            path = "" if numeral is None else numeral.path
            wanted[row, column] = bool(path) and any(fnmatchcase(path, pattern) for pattern in patterns)
    return wanted


def _specials(vocabulary: Vocabulary, device: torch.device) -> Tensor:
    """Special ids on a device; cached, because a copy in every step would stall it."""
    ids = vocabulary.special_ids
    return torch.tensor(ids, device=device) if torch.compiler.is_compiling() else _on_device(ids, device)


def _is_plain(ids: Tensor, vocabulary: Vocabulary) -> Tensor:
    """Which ids are those of no special token."""
    special = vocabulary.special_ids
    if not 0 < len(special) <= 16:
        return torch.isin(ids, _specials(vocabulary, ids.device), invert=True)
    if ids.device.type != "cpu" or torch.compiler.is_compiling():
        return (ids[..., None] != _specials(vocabulary, ids.device)).all(-1)
    plain = ids != special[0]  # on a CPU, half of the time of `isin`
    for token in special[1:]:
        plain &= ids != token
    return plain


@functools.cache
def _on_device(ids: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(ids, device=device)


def _random_words(drawn: Tensor, vocabulary: Vocabulary) -> Tensor:
    """Ids of random tokens other than special ones, from uniform numbers in [0, 1)."""
    special = sorted({token for token in vocabulary.special_ids if token < vocabulary.size})
    if vocabulary.size <= len(special):
        raise ValueError(f"random words need a vocabulary with more than special tokens, got {vocabulary.size=}")
    ids = (drawn.to(torch.float64) * (vocabulary.size - len(special))).long()
    for token in special:  # in ascending order: skip each special id
        ids = ids + (ids >= token)
    return ids
