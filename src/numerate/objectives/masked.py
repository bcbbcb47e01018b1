"""Objective `masked`: predicts masked tokens and masked numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from numerate.embedders.option_checks import check_option, check_within
from numerate.objectives.base import Objective, ObjectiveConfig, Task, Vocabulary
from numerate.objectives.draws import Draws
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
        number_ratio: Share of the numbers that are masked, unless the batch has `number_wanted`.
        what: Mask both numbers and words, or only one of them.
        replace: Shares of the drawn tokens that become [MASK] and random words; the rest is kept and predicted, too.
            By default all become [MASK], so that no visible number is predicted. BERT uses (0.8, 0.1). All tokens of a
            number are treated alike; a number that becomes random words loses its vector.
        joint: Mask the sub-words of a masked number together with its slot. Without it they are treated as words (as
            in LUNA's paper), and the number can be read from them.
        hide_slot: Also mask the slot token of a masked number, so that the input does not show that it is a number.
        seed: Seed of the masks of batches with a `sample_id`, which also depend on `epoch` and the sample.
    """

    kind: ClassVar[str] = "masked"
    ratio: float = 0.15
    number_ratio: float = 0.15
    what: Literal["both", "numbers", "words"] = "both"
    replace: tuple[float, float] = (1.0, 0.0)
    joint: bool = True
    hide_slot: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_within(self, "ratio", 0, 1)
        check_within(self, "number_ratio", 0, 1)
        shares = min(self.replace) >= 0 and sum(self.replace) <= 1 + 1e-9
        check_option(shares, self, "replace must be two shares with a sum of at most 1", "replace")


@objectives.register("masked")
class Masked(Objective):
    """Replaces tokens, and numbers with all tokens of their slots, by [MASK]; the model predicts both.

    The vector of a masked number is not added. If its slot is a token that numerate added, that token stays and the
    number is predicted there; its sub-words, in the slot or beside it, are masked and predicted as well. Padding and
    special tokens are never masked, nor is a number that neither a head nor sub-words could predict.

    A batch may have two more fields: `number_wanted` (B, M), the numbers to mask instead of random ones (made by
    `wanted_numbers`), and `sample_id` (B,), which makes the masks independent of the batch (see `draws.py`).
    """

    Config = MaskedConfig
    config: MaskedConfig

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Draws and applies the masks."""
        ids: Tensor = batch["input_ids"]
        if vocabulary.mask_id is None:
            kind = self.config.kind
            raise ValueError(f"objective {kind!r} needs a tokenizer with a mask token: use objective='causal'")
        config, inputs = self.config, dict(batch)
        table, slots = table_of(batch), batch.get("number_slots")
        if slots is None:
            slots = torch.zeros_like(ids)
        special = torch.isin(ids, _specials(vocabulary, ids.device))
        attention = batch.get("attention_mask")
        present = torch.ones_like(ids, dtype=torch.bool) if attention is None else attention.bool()
        if not config.joint:
            slots = slots.clamp_min(0)
        draws = Draws(batch.get("sample_id"), present.cumsum(1) - 1, ids.device, config.seed, self.epoch)
        ratio = 0.0 if config.what == "numbers" else config.ratio
        hidden = (draws.tokens() < ratio) & ~special & present & (slots == 0)
        masked, of_number, silent = None, torch.zeros_like(hidden), torch.zeros_like(hidden)
        index = (slots.abs() - 1).clamp_min(0)
        if table is not None and table.bits.shape[1]:
            masked = self._chosen(batch, draws.numbers(table.bits.shape[1]))
            masked = masked & (table.given == GIVEN) & table.values().isfinite()
            own = ids == vocabulary.num_id  # other added tokens spell the number, and are predicted
            if not vocabulary.predicts_numbers:
                written = torch.zeros(len(ids), masked.shape[1] + 1, dtype=torch.int8, device=ids.device)
                # As integers, because CUDA does not scatter booleans.
                masked = masked & written.scatter_reduce(1, slots.abs(), (~own).to(torch.int8), "amax")[:, 1:].bool()
            of_number = masked.gather(1, index) & (slots != 0)
            silent = of_number & own  # never predicted as a token: the number head predicts its number
            hidden = hidden | (of_number & ~own)
        labels = torch.where(hidden, ids, torch.full_like(ids, -100))
        covered = hidden | silent if config.hide_slot else hidden
        seen = torch.where(covered, torch.full_like(ids, vocabulary.mask_id), ids)
        given = masked
        if config.replace != (1.0, 0.0):
            fate = draws.tokens()
            if masked is not None:
                fates = draws.numbers(masked.shape[1])
                fate = torch.where(of_number, fates.gather(1, index), fate)
                given = masked & (fates < sum(config.replace))
            random = covered & (fate >= config.replace[0])
            if config.replace[1]:
                seen = torch.where(random, _random_words(draws.tokens(), vocabulary), seen)
            seen = torch.where(random & (fate >= sum(config.replace)), ids, seen)
        if table is not None and given is not None:
            inputs["number_given"] = torch.where(given, torch.full_like(table.given, ASKED), table.given)
        inputs["input_ids"] = seen
        return Task(inputs, labels, table, masked)

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
