"""The state of one call of `generate`: the batch as read so far, the cache, and the rows in the making."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from numerate.modeling.generation.grammar import Grammar
from numerate.modeling.generation.rows import Row, SaidNumber, appended, last_token, selected, spelled_out
from numerate.processing.encoding import NumberCollator

if TYPE_CHECKING:
    from numerate.heads.base import Head
    from numerate.numerals.numeral import Numeral
    from numerate.processing.processor import NumberProcessor

__all__ = ["Plan", "Speaker", "Speech"]


class Speaker(Protocol):
    """What a model must offer: a `NumberModel` over a causal or encoder-decoder language model does."""

    head: Head | None

    @property
    def device(self) -> torch.device:
        """Where its inputs go."""
        ...

    def first_tokens(self) -> tuple[int | None, frozenset[int]]:
        """What a decoder beside an encoder begins with (None without an encoder), and what ends a text."""
        ...

    def encode(self, fields: dict[str, Any]) -> Any:
        """What an encoder makes of a batch."""
        ...

    def read_on(self, fields: dict[str, Any], past: Any, encoded: Any, cached: bool) -> tuple[Tensor, Tensor, Any]:
        """Logits (B, V) and state (B, H) at the last token of `fields`, and the cache of all that was read."""
        ...


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options of `generate`."""

    max_new_tokens: int
    do_sample: bool
    temperature: float
    top_k: int | None
    top_p: float | None
    num_beams: int
    length_penalty: float
    number: str
    digits: int
    bounds: tuple[float, float]
    use_cache: bool

    def __post_init__(self) -> None:
        for name, least in (("max_new_tokens", 0), ("num_beams", 1), ("digits", 1), ("top_k", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie in (0, 1], got {self.top_p}")
        if self.number not in ("median", "mode", "mean", "sample"):
            raise ValueError(f"number must be 'median', 'mode', 'mean' or 'sample', got {self.number!r}")
        if self.bounds[0] > self.bounds[1]:
            raise ValueError(f"bounds must be the lower and the upper one, got {self.bounds}")
        if self.num_beams > 1 and self.do_sample:
            raise ValueError(f"beam search does not sample: set do_sample=False, or num_beams=1 for {self.num_beams}")


class Speech:
    """The state of one call: the batch as read so far, the cache, and the rows in the making."""

    def __init__(
        self, model: Any, processor: NumberProcessor, texts: list[str], plan: Plan, generator: torch.Generator | None
    ) -> None:
        self.model, self.processor, self.plan, self.generator = model, processor, plan, generator
        self.examples = [processor(text) for text in texts]
        words: Any = processor.tokenizer
        start, self.ends = model.first_tokens()
        self.pad = next(i for i in (words.pad_token_id, words.eos_token_id, 0) if i is not None)
        if start is None and (empty := [index for index, one in enumerate(self.examples) if not one["input_ids"]]):
            raise ValueError(f"prompt {empty[0]} has no tokens to go on from: {texts[empty[0]]!r}")
        collate = NumberCollator(SimpleNamespace(pad_token_id=self.pad, padding_side="left", pad_token_type_id=0))
        batch = {key: value.to(model.device) for key, value in collate(self.examples).items()}
        copies = torch.arange(len(texts), device=model.device).repeat_interleave(plan.num_beams)
        self.rows = [Row(int(index)) for index in copies]
        self.encoded, self.answers = None, start is not None
        if start is not None:
            self.encoded, batch = model.encode(batch), _beginning(batch, start)
        self.fields = selected(batch, copies)
        if self.encoded is not None and plan.num_beams > 1:
            self.encoded = _encoded_rows(self.encoded, copies)
        self.past, self.state = None, torch.empty(0)
        width = processor.first_id + len(processor.own_tokens)
        self.grammar = Grammar(processor, width, model.head is not None, model.device)

    def next_scores(self) -> Tensor:
        """Log-probabilities of the tokens that may come next: (B, V)."""
        keeps = self.past is not None
        logits, self.state, past = self.model.read_on(
            last_token(self.fields) if keeps else self.fields, self.past, self.encoded, self.plan.use_cache
        )
        self.past = past if self.plan.use_cache else None
        masks = [self._mask(row) for row in self.rows]
        wide = logits.to(self.model.device, torch.promote_types(logits.dtype, torch.float32))
        scores = wide.masked_fill(~torch.stack(masks), -torch.inf).log_softmax(dim=-1)
        if bool(scores.isnan().any()):
            row = int(scores.isnan().any(dim=1).nonzero()[0, 0])
            raise ValueError(f"the model's logits are NaN, first for prompt {self.rows[row].prompt}")
        return scores

    def _mask(self, row: Row) -> Tensor:
        before = row.ids or ([] if self.answers else self.examples[row.prompt]["input_ids"])
        mask = self.grammar.allowed(row.opened, before[-1] if before else None)
        if row.done:
            return torch.ones_like(mask)
        if row.forced:
            return torch.zeros_like(mask).index_fill(0, torch.tensor(row.forced[:1], device=mask.device), True)
        return mask

    def take(self, parents: list[int], tokens: list[int], scores: list[float]) -> None:
        """Goes on: each new row from a parent, with a token and its log-probability."""
        if parents != list(range(len(self.rows))):
            index = torch.tensor(parents, device=self.state.device)
            self.fields, self.state = selected(self.fields, index), self.state[index]
            if self.past is not None:
                self.past.reorder_cache(index)
        self.rows = [self.rows[parent].twin() for parent in parents]
        saying = []
        for index, (row, token, score) in enumerate(zip(self.rows, tokens, scores, strict=True)):
            if row.done:
                tokens[index] = self.pad
                continue
            before = row.opened
            row.opened, ended = self.grammar.follow(row.opened, token)
            if ended:
                self._read(row, ended)
            row.opened_score = score + (row.opened_score if row.opened and before and not ended else 0.0)
            row.ids.append(token)
            row.score += score
            row.forced = row.forced[1:]
            row.done = token in self.ends
            if self.grammar.order is not None and token == self.processor.num_id:
                saying.append(index)
        numerals: list[Numeral | None] = [None] * len(self.rows)
        values = [0.0] * len(self.rows)
        if saying:
            self._say(saying, numerals, values, scores)
        self.fields = appended(self.fields, tokens, numerals, values)

    def _say(self, saying: list[int], numerals: list[Any], values: list[float], scores: list[float]) -> None:
        """Finds the numbers of the rows that have come to a [NUM]."""
        if self.grammar.order == "behind":
            for index in saying:
                row = self.rows[index]
                text = self.processor.decode(row.ids[:-1], row.numerals).rstrip()
                found = [numeral for numeral in self.processor.reader.find(text) if numeral.end == len(text)]
                numeral = found[-1] if found else None
                row.numerals.append(numeral)
                if numeral is not None:
                    numerals[index] = numeral
                    values[index] = self._in_table(numeral.written if self.processor.written else numeral.value)
                    row.numbers.append(SaidNumber(numeral.text, numeral.value, None, scores[index]))
            return
        distributions = self.model.head(self.state[saying])
        how = self.plan.number
        drawn = distributions.sample(1, self.generator)[0] if how == "sample" else getattr(distributions, how)()
        for place, (index, value) in enumerate(zip(saying, drawn.tolist(), strict=True)):
            row, scaling = self.rows[index], self.processor.scaling
            meant = value if scaling is None else float(scaling.invert([""], [value])[0])
            if not math.isfinite(meant):  # a head that has seen nothing
                row.numerals.append(None)
                continue
            numeral = spelled_out(min(max(meant, self.plan.bounds[0]), self.plan.bounds[1]), self.plan.digits)
            numerals[index], values[index] = numeral, self._in_table(numeral.value)
            row.numerals.append(numeral)
            row.numbers.append(SaidNumber(numeral.text, numeral.value, distributions[place], scores[index]))
            if self.grammar.order == "before":
                row.forced = self._written(numeral)

    def _in_table(self, value: float) -> float:
        scaling = self.processor.scaling
        return value if scaling is None else float(scaling.apply([""], [value])[0])

    def _written(self, numeral: Numeral) -> tuple[int, ...]:
        """The subwords of a numeral as they stand behind its [NUM]."""
        ids = self.processor(numeral.text, add_special_tokens=False)["input_ids"]
        return tuple(ids[ids.index(self.processor.num_id) + 1 :]) if self.processor.num_id in ids else ()

    def may_stop(self, row: Row) -> bool:
        """Whether a row may end here: not in the middle of a number."""
        return not row.forced and self.grammar.complete(row.opened)

    def _read(self, row: Row, pieces: tuple[str, ...]) -> None:
        numeral = self.processor.notation.read(pieces)
        if numeral is not None:
            row.numbers.append(SaidNumber(numeral.text, numeral.value, None, row.opened_score))

    def closed(self, row: Row) -> Row:
        """The row with the number that its end ends."""
        if row.opened and self.grammar.complete(row.opened):
            self._read(row, row.opened)
        row.opened, row.done = (), True
        return row

    def text_of(self, row: Row) -> tuple[Row, str]:
        """A row with its text: what the tokenizer writes behind the prompt, spaces included."""
        decode = self.processor.decode
        if not self.answers:
            example = self.examples[row.prompt]
            given = example.numerals[0]
            before = decode(example["input_ids"], given, skip_special_tokens=True)
            whole = decode([*example["input_ids"], *row.ids], [*given, *row.numerals], skip_special_tokens=True)
            if whole.startswith(before):
                return row, whole[len(before) :]
        return row, decode(row.ids, row.numerals, skip_special_tokens=True)


def _beginning(batch: dict[str, Any], start: int) -> dict[str, Any]:
    """A decoder's first token, and the encoder's mask."""
    mask = batch["attention_mask"]
    token = torch.full_like(mask[:, :1], start)
    empty = {name: batch[f"number_{name}"][:, :0] for name in ("bits", "chars", "precision", "given")}
    begun = {"input_ids": token, "attention_mask": torch.ones_like(token), "number_slots": torch.zeros_like(token)}
    return begun | {f"number_{name}": value for name, value in empty.items()} | {"encoder_mask": mask}


def _encoded_rows(encoded: Any, rows: Tensor) -> Any:
    return type(encoded)(**{key: value[rows] for key, value in encoded.items() if isinstance(value, Tensor)})
