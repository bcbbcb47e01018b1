"""xVal's analyses on small networks: Fig. 2, continuity from number to number, vectors of tokens (B.5), trees.

    python benchmarks/xval_analyses.py --output results/analyses

Each network learns expressions of two operands, `(0.6821 * 1.4956) = 1.02014876`, for minutes on one core of a CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import machine
import numpy as np
import torch

from numerate.report import save
from numerate_lab.engine.encodings import encoding_of
from numerate_lab.papers.xval2023.analysis_figures import continuity_figure, embedding_figure, structure_figure
from numerate_lab.tasks.arithmetic.embedding_analysis import boosting_baseline, continuity, embedding_curve
from numerate_lab.tasks.arithmetic.problems import ArithmeticProblems
from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial

CURVED = ("xval+scalar", "log-fourier+scalar", "float+scalar", "xval+mixture")
"""Continuous or not: one vector times the number, waves of its logarithm, its bits; a scalar, a mixture's median."""
WRITTEN = ("p10", "p1000")
TREES = ("multiply-3", "multiply-4", "multiply-5", "expressions-2", "expressions-3", "expressions-4")
TEXT, LOW, HIGH = "({} + 0.5000) = [NUM]", -2.0, 2.0


def learnt(encoding: str, steps: int) -> Any:
    """A network that has learnt sums, differences and products of two numbers."""
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
    """Mean cosines of a notation's own tokens: next to each other in value, and of all pairs."""
    rows = torch.nn.functional.normalize(model.own_rows.detach().double()[1:], dim=1)
    cosines = rows @ rows.T
    apart = cosines[~torch.eye(len(rows), dtype=torch.bool)]
    return {"tokens": len(rows), "next": float(cosines.diagonal(1).mean()), "all": float(apart.mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("results/analyses"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--exercises", type=int, default=20_000, help="that trees learn from")
    parser.add_argument("--points", type=int, default=257)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {"trees": {}, "continuity": {}, "embedding": {}, "tokens": {}}
    for name in TREES:
        found = boosting_baseline(
            ArithmeticProblems(name), train=options.exercises, test=max(200, options.exercises // 4)
        )
        figures["trees"][name] = {key: found[key].to_dict()["value"] for key in ("r2", "exact_match")}
        print(f"trees, {name}: R² {figures['trees'][name]['r2']:.4f}", flush=True)
    curves, answers = {}, {}
    values = np.round(np.linspace(LOW, HIGH, options.points), 6).tolist()
    for name in CURVED:
        model = learnt(name, options.steps)
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
        model = learnt(name, options.steps)
        figures["tokens"][name] = neighbours(model)
        save(structure_figure(model, title=name), options.output / f"structure-{name}.svg")
        print(f"{name}: {figures['tokens'][name]}", flush=True)
    save(embedding_figure(curves), options.output / "figure2.svg")
    save(continuity_figure(answers), options.output / "continuity.svg")
    config = {"steps": options.steps, "exercises": options.exercises, "points": options.points, "text": TEXT}
    config |= {"encodings": {name: encoding_of(name).options for name in (*CURVED, *WRITTEN)}}
    machine.write(options.output / "analyses.json", config=config, figures=figures)


if __name__ == "__main__":
    main()
