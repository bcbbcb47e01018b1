"""Speed of masked-word scoring: batches of masked sentences against one sentence with one mask at a time.

    python benchmarks/masked_words.py --model bert-base-uncased --source data/units --device cuda --sentences 400

Every word of some sentences is masked alone. Both ways use the same model in one run and must give the same losses.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

import numerate

if TYPE_CHECKING:
    from collections.abc import Sequence

BAR = 20.0
"""Expected speed-up of batches on an accelerator."""


def one_at_a_time(model: numerate.NumberModel, encoded: Any, positions: Any, index: np.ndarray) -> list[float]:
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="folder or Hub name of a masked language model")
    parser.add_argument("--source", required=True, help="folder of number sentences (Wiki-Convert's format)")
    parser.add_argument("--recipe", default="in-place", help="recipe of the attached number model")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--sentences", type=int, default=100, help="number of sentences")
    parser.add_argument("--singles", type=int, default=200, help="positions that are also scored one at a time")
    options = parser.parse_args(arguments)
    from numerate_lab.tasks.masked_prediction.number_sentences import read_number_sentences
    from numerate_lab.tasks.masked_prediction.word_positions import WordPositions, encode
    from numerate_lab.tasks.masked_prediction.word_prediction import score_words

    tokenizer = AutoTokenizer.from_pretrained(options.model)
    backbone = AutoModelForMaskedLM.from_pretrained(options.model, dtype=torch.float32)
    model = numerate.attach(backbone, tokenizer, options.recipe).to(options.device).eval()
    sentences = list(read_number_sentences(options.source, "dev", most=options.sentences))
    positions = WordPositions.of(sentences, tokenizer)
    encoded = encode(model.processor, sentences, positions)
    there = np.flatnonzero(encoded.places >= 0)
    singles = there[np.linspace(0, len(there) - 1, min(options.singles, len(there))).astype(int)]

    one_at_a_time(model, encoded, positions, singles[:3])  # warm-up
    start = time.perf_counter()
    slow = one_at_a_time(model, encoded, positions, singles)
    per_single = (time.perf_counter() - start) / len(singles)
    score_words(model, encoded, positions)  # warm-up
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
    harness.write(options, figures)


if __name__ == "__main__":
    main()
