"""xVal's analyses on small networks: Fig. 2, continuity of answers, token vectors (B.5), and trees as a baseline.

    python benchmarks/xval_analyses.py --output out/analyses

Each network learns expressions of two operands, `(0.6821 * 1.4956) = 1.02014876`, for some minutes on one CPU core.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import torch

from numerate.report import save

if TYPE_CHECKING:
    from collections.abc import Sequence

CURVED = ("xval+scalar", "log-fourier+scalar", "float+scalar", "xval+mixture")
"""Continuous and other encodings: a scaled vector, waves of the logarithm, bits; scalar and mixture heads."""
WRITTEN = ("p10", "p1000")
TREES = ("multiply-3", "multiply-4", "multiply-5", "expressions-2", "expressions-3", "expressions-4")
TEXT, LOW, HIGH = "({} + 0.5000) = [NUM]", -2.0, 2.0


def trained(encoding: str, steps: int) -> Any:
    """Trains a network on sums, differences and products of two numbers."""
    from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial

    config = AskedNumberTrial(
        task="expressions-2", encoding=encoding, examples=100_000, amount=128 * steps, batch=128, width=96, layers=3,
        heads=4, rate=1e-3, looks=0, scaling="standard", precision="fp32",
    )  # fmt: skip
    task = AskedNumber(config)
    model = task.build()
    found = task.train(model)
    print(f"{encoding}: {found['steps']} steps in {found['seconds']:.0f} s", flush=True)
    return model.eval()


def neighbours(model: Any) -> dict[str, float]:
    """Mean cosine similarity of a notation's tokens: of neighbours in value, and of all pairs."""
    rows = torch.nn.functional.normalize(model.own_rows.detach().double()[1:], dim=1)
    cosines = rows @ rows.T
    apart = cosines[~torch.eye(len(rows), dtype=torch.bool)]
    return {"tokens": len(rows), "next": float(cosines.diagonal(1).mean()), "all": float(apart.mean())}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--output", type=Path, default=Path("out/analyses"), help="folder for figures and JSON")
    parser.add_argument("--steps", type=int, default=1000, help="training steps of each network")
    parser.add_argument("--exercises", type=int, default=20_000, help="training examples of the trees")
    parser.add_argument("--points", type=int, default=257, help="numbers at which the networks are evaluated")
    options = parser.parse_args(arguments)
    from analysis_figures import continuity_figure, embedding_figure, structure_figure
    from embedding_analysis import boosting_baseline, continuity, embedding_curve

    from numerate_lab.engine.encodings import encoding_of
    from numerate_lab.tasks.arithmetic.problems import ArithmeticProblems

    options.json = options.json or str(options.output / "analyses.json")
    options.output.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {"trees": {}, "continuity": {}, "embedding": {}, "tokens": {}}
    for name in TREES:
        test = max(200, options.exercises // 4)
        found = boosting_baseline(ArithmeticProblems(name), train=options.exercises, test=test)
        figures["trees"][name] = {key: found[key].to_dict()["value"] for key in ("r2", "exact_match")}
        print(f"trees, {name}: R² {figures['trees'][name]['r2']:.4f}", flush=True)
    curves, answers = {}, {}
    values = np.round(np.linspace(LOW, HIGH, options.points), 6).tolist()
    for name in CURVED:
        model = trained(name, options.steps)
        curves[name] = embedding_curve(model, values, text=TEXT.replace("[NUM]", "0.5"))
        answers[name] = continuity(model, TEXT, LOW, HIGH, points=options.points)
        way, said = curves[name].projection, answers[name]
        spread = float(said.answers.max() - said.answers.min())
        figures["continuity"][name] = {
            "largest_step": said.largest_step, "of_the_spread": said.largest_step / spread if spread else None,
            "halving": said.halving,
        }  # fmt: skip
        figures["embedding"][name] = {
            "projection": [round(float(way[k]), 4) for k in np.linspace(0, len(way) - 1, 9).round().astype(int)],
            "rising": float((way.diff() > 0).double().mean()),
        }
        print(f"{name}: {figures['continuity'][name]}", flush=True)
    for name in WRITTEN:
        model = trained(name, options.steps)
        figures["tokens"][name] = neighbours(model)
        save(structure_figure(model, title=name), options.output / f"structure-{name}.svg")
        print(f"{name}: {figures['tokens'][name]}", flush=True)
    save(embedding_figure(curves), options.output / "figure2.svg")
    save(continuity_figure(answers), options.output / "continuity.svg")
    encodings = {name: encoding_of(name).options for name in (*CURVED, *WRITTEN)}
    harness.write(options, figures, text=TEXT, encodings=encodings)


if __name__ == "__main__":
    main()
