"""What a `NumberModel` makes of its backbone's states: logits of our tokens, distributions of numbers, the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.modeling.introspection import NumberOutput, append_logits, rebuilt
from numerate.modeling.placement import earlier_numbers
from numerate.objectives.base import Pass, Task
from numerate.objectives.cross_entropy import aligned, mean_over, sum_and_pick, token_loss
from numerate.processing.number_table import ASKED, GIVEN
from numerate.processing.slot_positions import number_positions, table_of
from numerate.processing.static_shapes import chosen_rows, is_recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.heads.pointer import PointerContext

__all__ = ["Answers"]


class Answers:
    """The part of a `NumberModel` that comes after its backbone."""

    device: Any
    info: Any
    processor: Any
    head: Any
    objective: Any
    own_logits: Any
    training: bool

    def _finish(
        self,
        output: Any,
        hidden: Tensor | None,
        fields: dict[str, Any],
        task: Task | None,
        every: bool,
        again: Any = None,
        shares: Mapping[str, Tensor] | None = None,
    ) -> NumberOutput:
        """Appends our logits, reads the numbers, adds up the loss."""
        items = dict(output)
        own, known, token_terms, number_terms = None, None, None, None
        first_id, causal = self.processor.first_id, self.info.is_causal
        labels = task.labels if task is not None and self.info.is_language_model else None
        if self.own_logits is not None and hidden is not None:
            own = self.own_logits(hidden.to(self.own_logits.weight))
            if self.head is not None and self.head.gates:  # it has its own way to choose between words and numbers
                nothing = torch.zeros_like(fields["input_ids"] if labels is None else labels)
                known = sum_and_pick(items["logits"], nothing if labels is None else aligned(labels, causal))
                number = self.head.number_logit(hidden, own[..., 0], known[0])
                own = torch.cat([number[..., None].to(own), own[..., 1:]], dim=-1)
        if task is not None and labels is not None:
            token_terms = token_loss(items["logits"], labels, own, first_id, shift=causal, known=known, shares=shares)
            if self.objective is not None and self.objective.number_tokens is not None:
                extra = self.objective.number_tokens(items["logits"], labels, shift=causal, shares=shares)
                token_terms = token_terms + extra
        # A training step needs its loss alone: the joined copy would cost it more than all else that is ours.
        if own is not None and not (self.training and token_terms is not None):
            items["logits"] = append_logits(items["logits"], own, first_id)
        if task is not None and hidden is not None:
            number_terms = self._number_loss(hidden, fields, task, shares)
        loss = token_terms
        if self.objective is not None and task is not None:
            seen = Pass(self, task, output.get("logits"), hidden, again, shares)
            loss = self.objective.total(token_terms, number_terms, seen)
        if loss is not None:
            items["loss"] = loss
        result = rebuilt(output, items)
        if not is_recorded():  # nobody would see them
            result.numbers, result.number_index = self._wanted_numbers(hidden, fields, every)
        return result

    def _number_loss(
        self, hidden: Tensor, fields: dict[str, Any], task: Task, shares: Mapping[str, Tensor] | None
    ) -> Tensor | None:
        slots = fields["number_slots"]
        if self.head is None or slots is None or task.targets is None or task.scored is None:
            return None
        rows, tokens, numbers = where = number_positions(slots, task.scored, before=self._before(fields))
        earlier = [self._earlier(hidden, fields, where)] if self.head.looks_back else []
        terms = self.head.loss(self._at(hidden, rows, tokens), task.targets[rows, numbers], *earlier)
        if task.labels is not None and getattr(self.objective, "counts_tokens", False):
            count = (task.labels[:, int(self.info.is_causal) :] != -100).sum()
            return mean_over(terms.sum(), count, shares, "tokens")
        return mean_over(terms.sum(), len(rows), shares, "numbers")

    def _wanted_numbers(self, hidden: Tensor | None, fields: dict[str, Any], every: bool) -> tuple[Any, Tensor | None]:
        table, slots = table_of(fields), fields["number_slots"]
        if self.head is None or hidden is None or table is None or slots is None:
            return None, None
        wanted = (table.given == GIVEN) & table.values().isfinite() if every else table.given == ASKED
        # A number that is asked for may stand first in its text; a given one would be seen there.
        rows, tokens, numbers = where = number_positions(slots, wanted, before=self._before(fields), stay=not every)
        if len(rows) == 0 and not every:
            return None, None
        earlier = [self._earlier(hidden, fields, where)] if self.head.looks_back else []
        return self.head(self._at(hidden, rows, tokens), *earlier), torch.stack([rows, numbers], dim=1)

    def _at(self, hidden: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
        """Some hidden states, on our device: a backbone may be spread over several."""
        return chosen_rows(hidden.to(self.device), rows, tokens)

    def _earlier(
        self, hidden: Tensor, fields: dict[str, Any], where: tuple[Tensor, Tensor, Tensor]
    ) -> PointerContext | None:
        """What a head that looks back may copy. A decoder's slots stand where it speaks, one token before it reads."""
        before = self._before(fields)
        delay = 0 if before is not None else 1 if self.info.is_encoder_decoder else None
        return earlier_numbers(hidden.to(self.device), fields, where, before=before, delay=delay)

    def _before(self, fields: dict[str, Any]) -> Tensor | None:
        """In a causal model the token before a number predicts it: which tokens are real."""
        if not self.info.is_causal:
            return None
        attention = fields.get("attention_mask")
        plain = attention is not None and attention.dim() == 2
        return attention if plain else torch.ones_like(fields["input_ids"])
