"""The state of one call of `generate`: the batch read so far, the key-value cache, and the texts being written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

import torch
from torch import Tensor

from numerate.heads.rescaled import RescaledDistribution
from numerate.modeling.generation.grammar import Grammar
from numerate.modeling.generation.rows import GeneratedNumber, Row, append_token, last_token, numeral_of, select_rows
from numerate.modeling.generation.stepping import encode, next_token_logits, start_and_end_tokens
from numerate.processing.encoding import NumberCollator

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral

__all__ = ["GenerationOptions", "GenerationState"]


@dataclass(frozen=True, kw_only=True)
class GenerationOptions:
    """The options of `generate`.

    Attributes:
        max_new_tokens: The largest number of new tokens.
        do_sample: Sample the tokens (and by default the numbers), instead of taking the most probable.
        temperature: Sampling temperature.
        top_k: Sample among this many most probable tokens.
        top_p: Sample among the fewest most probable tokens that have this probability together.
        num_beams: Number of beams. A number counts with the probability of its [NUM]: the density of a number cannot be
            compared with the probability of a word.
        length_penalty: Beams are compared by score / length ** length_penalty.
        number: What is taken from the head's distribution; by default the median, or a sample with `do_sample`.
        significant_digits: How many digits a predicted number is written with.
        bounds: The smallest and largest value of a predicted number.
        use_cache: Whether to use the backbone's key-value cache; otherwise all tokens are read again at each step.
    """

    max_new_tokens: int
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    num_beams: int = 1
    length_penalty: float = 1.0
    number: Literal["median", "mode", "mean", "sample"] | None = None
    significant_digits: int = 6
    bounds: tuple[float, float] = (-math.inf, math.inf)
    use_cache: bool = True

    def __post_init__(self) -> None:
        for name, least in (("max_new_tokens", 0), ("num_beams", 1), ("significant_digits", 1), ("top_k", 1)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
                raise TypeError(f"{name} must be a whole number, got {value!r}")
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        for name in ("temperature", "top_p", "length_penalty"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, SupportsFloat):
                raise TypeError(f"{name} must be a number, got {value!r}")
        for name in ("do_sample", "use_cache"):
            if not isinstance(value := getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {value!r}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must lie in (0, 1], got {self.top_p}")
        if self.number not in (None, "median", "mode", "mean", "sample"):
            raise ValueError(f"number must be 'median', 'mode', 'mean' or 'sample', got {self.number!r}")
        if self.bounds[0] > self.bounds[1]:
            raise ValueError(f"bounds must be (smallest, largest), got {self.bounds}")
        if self.num_beams > 1 and self.do_sample:
            raise ValueError(f"beam search does not sample: set do_sample=False, or num_beams=1 for {self.num_beams}")


class GenerationState:
    """The state of one call of `generate`.

    Attributes:
        rows: The texts being written, `num_beams` for each prompt.
        ends: The tokens that end a text.
        pad: The id of the padding token.
        grammar: Which tokens may follow.
    """

    def __init__(
        self, model: NumberModel, texts: list[Any], options: GenerationOptions, generator: torch.Generator | None
    ) -> None:
        self.model, self.processor, self.options, self.generator = model, model.processor, options, generator
        self.examples = [self.processor(text) if isinstance(text, str) else text for text in texts]
        words: Any = self.processor.tokenizer
        start, self.ends = start_and_end_tokens(model)
        self.pad = next(i for i in (words.pad_token_id, words.eos_token_id, 0) if i is not None)
        if start is None and (empty := [index for index, one in enumerate(self.examples) if not one["input_ids"]]):
            raise ValueError(f"prompt {empty[0]} has no tokens to continue: {texts[empty[0]]!r}")
        # An encoder counts positions from the left, whatever its mask.
        side = "left" if start is None else "right"
        collate = NumberCollator(SimpleNamespace(pad_token_id=self.pad, padding_side=side, pad_token_type_id=0))
        batch = {key: value.to(model.device) for key, value in collate(self.examples).items()}
        copies = torch.arange(len(texts), device=model.device).repeat_interleave(options.num_beams)
        self.rows = [Row(int(index)) for index in copies]
        self.encoded, self._is_answer = None, start is not None
        if start is not None:
            self.encoded, batch = encode(model, batch), _decoder_start(batch, start)
        self.fields = select_rows(batch, copies)
        if self.encoded is not None and options.num_beams > 1:
            self.encoded = _encoded_rows(self.encoded, copies)
        self.past, self.state = None, torch.empty(0)
        width = self.processor.first_id + len(self.processor.own_tokens)
        self.grammar = Grammar(self.processor, width, model.head is not None, model.device)

    def next_scores(self) -> Tensor:
        """Log-probabilities of the tokens that are allowed to follow: (B, V)."""
        cached, options = self.options.use_cache, self.model.options
        reach = max(options.reach or 0, options.late_reach or 0)
        fields = self.fields if self.past is None else last_token(self.fields, reach, options.relations or 0)
        logits, self.state, past = next_token_logits(self.model, fields, self.past, self.encoded, cached)
        self.past = past if cached else None
        masks = [self._mask(row) for row in self.rows]
        wide = logits.to(self.model.device, torch.promote_types(logits.dtype, torch.float32))
        scores = wide.masked_fill(~torch.stack(masks), -torch.inf).log_softmax(dim=-1)
        if bool(scores.isnan().any()):
            row = int(scores.isnan().any(dim=1).nonzero()[0, 0])
            raise ValueError(f"the model's logits are NaN, first for prompt {self.rows[row].prompt}")
        return scores

    def _mask(self, row: Row) -> Tensor:
        before = row.ids or ([] if self._is_answer else self.examples[row.prompt]["input_ids"])
        mask = self.grammar.allowed(row.opened, before[-1] if before else None)
        if row.done:
            return torch.ones_like(mask)
        if row.forced:
            return torch.zeros_like(mask).index_fill(0, torch.tensor(row.forced[:1], device=mask.device), True)
        return mask

    def extend(self, parents: list[int], tokens: list[int], scores: list[float]) -> None:
        """Makes new rows: each continues the row `parents[i]` with a token and its log-probability."""
        if parents != list(range(len(self.rows))):
            index = torch.tensor(parents, device=self.state.device)
            self.fields, self.state = select_rows(self.fields, index), self.state[index]
            if self.past is not None:
                self.past.reorder_cache(index)
        self.rows = [self.rows[parent].copy() for parent in parents]
        predicted, written = [], [bool(row.forced) for row in self.rows]
        for index, (row, token, score) in enumerate(zip(self.rows, tokens, scores, strict=True)):
            if row.done:
                tokens[index] = self.pad
                continue
            before = row.opened
            row.opened, ended = self.grammar.follow(row.opened, token)
            if ended:
                self._add_number(row, ended)
            row.opened_score = score + (row.opened_score if row.opened and before and not ended else 0.0)
            row.ids.append(token)
            row.score += score
            row.forced = row.forced[1:]
            row.done = token in self.ends
            if self.grammar.order is not None and token == self.processor.num_id:
                predicted.append(index)
        numerals: list[Numeral | None] = [None] * len(self.rows)
        values = [0.0] * len(self.rows)
        if predicted:
            self._predict_numbers(predicted, numerals, values, scores)
        self.fields = append_token(self.fields, tokens, numerals, values, written)

    def _predict_numbers(
        self, indices: list[int], numerals: list[Any], values: list[float], scores: list[float]
    ) -> None:
        """Finds the numbers of the rows whose new token is [NUM], and writes them into `numerals` and `values`."""
        if self.grammar.order == "behind":
            for index in indices:
                row = self.rows[index]
                text = self.processor.decode(row.ids[:-1], row.numerals).rstrip()
                found = [numeral for numeral in self.processor.reader.find(text) if numeral.end == len(text)]
                numeral = found[-1] if found else None
                row.numerals.append(numeral)
                if numeral is not None:
                    numerals[index] = numeral
                    values[index] = self._in_table(numeral.written if self.processor.written else numeral.value)
                    row.numbers.append(GeneratedNumber(numeral.text, numeral.value, None, scores[index]))
            return
        distributions = self.model.head(self.state[indices])  # type: ignore[misc]
        if self.processor.scaling is not None:
            distributions = RescaledDistribution(distributions, self.processor.scaling, ("",) * len(indices))
        how = self.options.number or ("sample" if self.options.do_sample else "median")
        drawn = distributions.sample(1, self.generator)[0] if how == "sample" else getattr(distributions, how)()
        for place, (index, meant) in enumerate(zip(indices, drawn.tolist(), strict=True)):
            row = self.rows[index]
            if not math.isfinite(meant):  # an untrained head
                row.numerals.append(None)
                continue
            least, most = self.options.bounds
            numeral = numeral_of(min(max(meant, least), most), self.options.significant_digits)
            numerals[index], values[index] = numeral, self._in_table(numeral.value)
            row.numerals.append(numeral)
            row.numbers.append(GeneratedNumber(numeral.text, numeral.value, distributions[place], scores[index]))
            if self.grammar.order == "before":
                row.forced = self._subwords(numeral)

    def _in_table(self, value: float) -> float:
        scaling = self.processor.scaling
        return value if scaling is None else float(scaling.apply([""], [value])[0])

    def _subwords(self, numeral: Numeral) -> tuple[int, ...]:
        """The subwords of a numeral after its [NUM]."""
        ids = self.processor(numeral.text, add_special_tokens=False)["input_ids"]
        return tuple(ids[ids.index(self.processor.num_id) + 1 :]) if self.processor.num_id in ids else ()

    def may_stop(self, row: Row) -> bool:
        """Whether a text may end here: not in the middle of a number."""
        return not row.forced and self.grammar.complete(row.opened)

    def _add_number(self, row: Row, pieces: tuple[str, ...]) -> None:
        numeral = self.processor.notation.read(pieces)
        if numeral is not None:
            row.numbers.append(GeneratedNumber(numeral.text, numeral.value, None, row.opened_score))

    def finish(self, row: Row) -> Row:
        """Ends a text, and the number at its end."""
        if row.opened and self.grammar.complete(row.opened):
            self._add_number(row, row.opened)
        row.opened, row.done = (), True
        return row

    def text_of(self, row: Row) -> str:
        """The text that the tokenizer writes after the prompt, spaces included."""
        decode = self.processor.decode
        if not self._is_answer:
            example = self.examples[row.prompt]
            given = example.numerals[0]
            before = decode(example["input_ids"], given, skip_special_tokens=True)
            whole = decode([*example["input_ids"], *row.ids], [*given, *row.numerals], skip_special_tokens=True)
            if whole.startswith(before):
                return whole[len(before) :]
        return decode(row.ids, row.numerals, skip_special_tokens=True)


def _decoder_start(batch: dict[str, Any], start: int) -> dict[str, Any]:
    """A batch of the decoder's first token, with the encoder's mask."""
    mask = batch["attention_mask"]
    token = torch.full_like(mask[:, :1], start)
    empty = {name: batch[f"number_{name}"][:, :0] for name in ("bits", "chars", "precision", "given")}
    begun = {"input_ids": token, "attention_mask": torch.ones_like(token), "number_slots": torch.zeros_like(token)}
    return begun | {f"number_{name}": value for name, value in empty.items()} | {"encoder_mask": mask}


def _encoded_rows(encoded: Any, rows: Tensor) -> Any:
    return type(encoded)(**{key: value[rows] for key, value in encoded.items() if isinstance(value, Tensor)})
