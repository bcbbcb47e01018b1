"""Every word of some sentences masked alone: many at once against one at a time, on one model in one run.

    python benchmarks/masked_words.py --model bert-base-uncased --source data/units --device cuda --sentences 400

One at a time is what a loop over positions does: a batch of one sentence with one mask. Both give the same losses.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import machine
import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import numerate
from numerate_lab.tasks.masked_prediction.number_sentences import read_number_sentences
from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions, encode
from numerate_lab.tasks.masked_prediction.word_prediction import score_words

BAR = 20.0
"""On an accelerator, batched evaluation is to be so many times as fast."""


def one_at_a_time(
    model: numerate.NumberModel, encoded: Encoded, positions: WordPositions, index: np.ndarray
) -> list[float]:
    """Losses of some positions, each in a batch of its own."""
    losses = []
    for each in index.tolist():
        row = encoded.rows[int(positions.sentence[each])]
        fields = {key: torch.as_tensor(value)[None].to(model.device) for key, value in row.items()}
        place = int(encoded.places[each])
        target = int(fields["input_ids"][0, place])
        fields["input_ids"][0, place] = model.vocabulary.mask_id
        with torch.no_grad():
            logits = model(**fields, return_loss=False).logits[0, place].double()
        losses.append(float(logits.logsumexp(-1) - logits[target]))
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--recipe", default="in-place")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--singles", type=int, default=200, help="Positions that are also measured one at a time.")
    parser.add_argument("--json")
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    backbone = AutoModelForMaskedLM.from_pretrained(options.model, dtype=torch.float32)
    model = numerate.attach(backbone, tokenizer, options.recipe).to(options.device).eval()
    sentences = list(read_number_sentences(options.source, "dev", most=options.sentences))
    positions = WordPositions.of(sentences, tokenizer)
    encoded = encode(model.processor, sentences, positions)
    there = np.flatnonzero(encoded.places >= 0)
    singles = there[np.linspace(0, len(there) - 1, min(options.singles, len(there))).astype(int)]

    one_at_a_time(model, encoded, positions, singles[:3])  # warm
    start = time.perf_counter()
    slow = one_at_a_time(model, encoded, positions, singles)
    per_single = (time.perf_counter() - start) / len(singles)
    score_words(model, encoded, positions)  # warm
    start = time.perf_counter()
    scores = score_words(model, encoded, positions)
    per_batched = (time.perf_counter() - start) / len(there)

    gap = float(np.abs(scores.nll[singles] - slow).max())
    ratio = per_single / per_batched
    figures = {
        "positions": len(there), "seconds_batched": per_batched * len(there), "ms_single": 1000 * per_single,
        "ms_batched": 1000 * per_batched, "ratio": ratio, "bar": BAR, "largest_gap_nats": gap,
    }  # fmt: skip
    for name, value in figures.items():
        print(f"{name:18} {value:.6g}")
    if options.json:
        named = {key: Path(getattr(options, key)).name for key in ("model", "source")}  # not where they lie
        machine.write(options.json, config=vars(options) | named, figures=figures)


if __name__ == "__main__":
    main()
