"""lm-evaluation-harness for a `NumberModel`: the numbers of a context have their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]

from numerate.processing.encoding import NumberCollator
from numerate.processing.token_ids import check_reads_ids, read_ids

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel

__all__ = ["NumberLM"]


class NumberLM(HFLM):
    """The harness's `HFLM` on a `NumberModel`: for `lm_eval.simple_evaluate(model=NumberLM(model), tasks=[...])`.

    `HFLM` itself passes token ids alone, so that the model would read numbers as bare subwords. Here the numbers of a
    context get their vectors. Those of a continuation do not: the vector at a number's first subword would tell the
    next ones. Probabilities are over the tokens of the tokenizer, so that they compare with those of the bare model.

    Args:
        model: A `NumberModel` of a causal language model whose notation keeps the text of numbers (`in-place`).
        batch_size: Number of texts in a batch.
        **options: Other options of `HFLM`.
    """

    def __init__(self, model: NumberModel, batch_size: int = 8, **options: Any) -> None:
        if model.info.task != "causal-lm":
            raise ValueError(f"NumberLM needs a causal language model, got {model.info.task!r}")
        check_reads_ids(model.processor)
        tokenizer: Any = model.processor.tokenizer
        super().__init__(pretrained=model, tokenizer=tokenizer, batch_size=batch_size, **options)  # type: ignore[arg-type]
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        self._collate = NumberCollator(_Padding(0 if pad is None else pad))

    def _loglikelihood_tokens(
        self, requests: list[tuple[Any, list[int], list[int]]], disable_tqdm: bool = False, override_bs: Any = None
    ) -> list[tuple[float, bool]]:
        """Log-probability of each continuation, and whether it is the most probable one."""
        del disable_tqdm
        size = override_bs or (self.batch_size if isinstance(self.batch_size, int) else 8)
        order = sorted(range(len(requests)), key=lambda index: -len(requests[index][1]) - len(requests[index][2]))
        found: dict[int, tuple[float, bool]] = {}
        for start in range(0, len(order), size):
            found |= self._scores({index: requests[index] for index in order[start : start + size]})
        for index in order:
            if requests[index][0] is not None:
                self.cache_hook.add_partial("loglikelihood", requests[index][0], found[index])
        return [found[index] for index in range(len(requests))]

    def _scores(self, requests: dict[int, tuple[Any, list[int], list[int]]]) -> dict[int, tuple[float, bool]]:
        """The scores of one batch, by the index of each request."""
        model: Any = self.model
        rows = []
        for _, context, continuation in requests.values():
            ids = [*context, *continuation][-(self.max_length + 1) :][:-1]
            rows.append(read_ids(model.processor, ids, until=len(ids) + 1 - len(continuation)))
        batch = {key: value.to(model.device) for key, value in self._collate(rows).items()}
        with torch.no_grad():
            logits = model(**batch, return_loss=False).logits[..., : model.processor.first_id]
        found = {}
        for row, (index, (_, _, continuation)) in enumerate(requests.items()):
            end = len(rows[row]["input_ids"])
            scores = logits[row, end - len(continuation) : end].float().log_softmax(-1)
            wanted = torch.tensor(continuation, device=scores.device)
            greedy = bool((scores.argmax(-1) == wanted).all())
            found[index] = float(scores.gather(1, wanted[:, None]).sum()), greedy
        return found


class _Padding:
    """The attributes of a tokenizer that a `NumberCollator` reads."""

    padding_side, pad_token_type_id = "right", 0

    def __init__(self, pad: int) -> None:
        self.pad_token_id = pad
