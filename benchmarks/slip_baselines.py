"""What a model's score for slips is compared with: histograms of sizes, and a number-blind masked language model."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.numerals.numeral import Numeral

MISSED = -1e6
"""Score of a number that a method does not see."""


class Histogram:
    """Surprise of a number in a histogram of logarithms; of those with the same word behind them, if there are enough.

    Bins are a fifth of an order of magnitude wide; each word's histogram is mixed with that of all numbers.
    """

    def __init__(self, pairs: Iterable[tuple[Numeral, str]], by_word: bool) -> None:
        self.by_word = by_word
        self.bins: dict[str, Counter[int]] = defaultdict(Counter)
        for numeral, text in pairs:
            place = self._bin(numeral.written)
            self.bins[""][place] += 1
            if by_word:
                self.bins[word_behind(numeral, text)][place] += 1

    @staticmethod
    def _bin(value: float) -> int:
        if value == 0 or not np.isfinite(value):
            return 10_000
        place = int(np.clip(np.floor(np.log10(abs(value)) * 5), -100, 100))
        return place if value > 0 else place + 1000

    def __call__(self, numeral: Numeral | None, text: str) -> float:
        if numeral is None:
            return MISSED
        place, every = self._bin(numeral.written), self.bins[""]
        share = (every[place] + 0.5) / (every.total() + 100)
        if self.by_word and (own := self.bins.get(word_behind(numeral, text))):
            share = (own[place] + 10 * share) / (own.total() + 10)
        return -float(np.log2(share))


def word_behind(numeral: Numeral, text: str) -> str:
    """The percent sign, scale word or unit of a number, or the next word."""
    rest = (numeral.text[-1] if numeral.text[-1] == "%" else "") + text[numeral.end :]
    words = rest.split(maxsplit=1)
    return words[0].lower() if words else "."


class DigitScores:
    """A number-blind masked language model: all sub-words of the number masked, and their probability in bits."""

    def __init__(self, folder: str, device: str) -> None:
        self.words: Any = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).to(device).eval()

    @torch.no_grad()
    def __call__(self, texts: Sequence[str], numerals: Sequence[Numeral | None]) -> np.ndarray:
        """Surprise of each number: (N,)."""
        found = np.full(len(texts), MISSED)
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for start in range(0, len(order), 32):
            rows = [row for row in order[start : start + 32] if numerals[row] is not None]
            if not rows:
                continue
            some = [texts[row] for row in rows]
            batch = self.words(some, padding=True, truncation=True, max_length=256, return_tensors="pt",
                               return_offsets_mapping=True)  # fmt: skip
            spans = batch.pop("offset_mapping")
            ends = torch.tensor([[numerals[row].start, numerals[row].end] for row in rows])  # type: ignore[union-attr]
            inside = (spans[..., 0] >= ends[:, :1]) & (spans[..., 1] <= ends[:, 1:]) & (spans[..., 1] > spans[..., 0])
            ids = batch["input_ids"]
            batch["input_ids"] = ids.masked_fill(inside, self.words.mask_token_id)
            logits = self.model(**{key: value.to(self.model.device) for key, value in batch.items()}).logits.cpu()
            where = inside.nonzero(as_tuple=True)
            logs = logits[where].double().log_softmax(-1)[torch.arange(len(where[0])), ids[where]]
            sums = torch.zeros(len(rows), dtype=torch.float64).index_add(0, where[0], logs)
            for at, row in enumerate(rows):
                if bool(inside[at].any()):
                    found[row] = -float(sums[at]) / np.log(2)
        return found
