"""The planets of xVal's Table 5 on the engine: records of moving planets, of which four numbers are asked for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.registry import tasks
from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetSource
from numerate_lab.tasks.records.record_answers import likelihoods, scores
from numerate_lab.tasks.records.record_arrays import Records
from numerate_lab.tasks.records.record_rows import Rows
from numerate_lab.tasks.records.record_task import RecordsTask, RecordsTrial

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate_lab.engine.task import Columns, Figures, TrialConfig

__all__ = ["Planets", "PlanetsTrial", "planet_records"]

GAP_ROWS, GAP_LINE = 24, np.round(np.arange(0.95, 1.2501, 0.005), 4)
"""How many systems in the gap are looked at closely, and for which values of a₁."""


@dataclass(frozen=True, kw_only=True)
class PlanetsTrial(RecordsTrial):
    """The settings of one trial; `task_options` are those of `PlanetsConfig`.

    Attributes:
        times: How many of the times of each system are told, the first ones; None for all.
        decimals: Decimals of all numbers.
    """

    kind: ClassVar[str] = "planets"
    times: int | None = None
    decimals: int = 4


@tasks.register("planets")
class Planets(RecordsTask):
    """Step size, semi-major axis, eccentricity and mass of planets, also where training has none."""

    Trial: ClassVar[type[TrialConfig]] = PlanetsTrial
    questions: ClassVar[dict[str, tuple[str, ...]]] = {
        "test": ("stepsize", "a1", "e1", "m1"), "stepsize-between": ("stepsize",), "a1-gap": ("a1",),
    }  # fmt: skip
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("records", "planets")

    def make_records(self, split: str, count: int) -> Records:
        """Systems of a split; blocks are no larger than what is needed."""
        config = PlanetsConfig.from_dict(self.config.task_options)
        source = PlanetSource(dataclasses.replace(config, block=min(config.block, count)), device=str(self.device))
        return planet_records(source, split, count, self.config.times, self.config.decimals)

    def ask(self, model: NumberModel, split: str) -> Columns:
        """Predictions, and in the gap the likelihood of values of a₁ for some systems."""
        columns = dict(super().ask(model, split))
        # A scalar head's spread is a setting, so that its likelihood says nothing.
        if split == "a1-gap" and (model.head is None or model.head.config.kind != "scalar"):
            columns |= _along_the_gap(model, self.examples(split), self._rows(model, split))
        return columns

    def baselines(self) -> Figures:
        """The mean of the training records."""
        training, found = self.examples("train"), {}
        for split, asks in self.questions.items():
            for ask in asks:
                gold = torch.from_numpy(self.examples(split).gold(ask))
                found[f"{split} {ask}"] = scores(torch.full_like(gold, float(np.mean(training.gold(ask)))), gold)
        return {"mean": found}


def planet_records(
    source: PlanetSource, split: str, count: int, times: int | None = None, decimals: int = 4, seed: int = 0
) -> Records:
    """Systems of a split as records with `decimals` decimals; the source's `significant` digits do not matter.

    Records tell the first `times` times of each system; None for all.
    """
    systems, config = source.samples(split, count, seed), source.config
    if times is not None:
        if times < 2:
            raise ValueError(f"times must be at least 2, got {times}")
        systems = dataclasses.replace(systems, points=np.minimum(systems.points, times))
    elements = systems.elements(config)

    def make(rows: np.ndarray) -> tuple[Any, ...]:
        planets, points = int(systems.planets[rows[0]]), int(systems.points[rows[0]])
        asks = {"stepsize": [3 * planets], "a1": [1], "e1": [2], "m1": [0]}
        parts = elements[rows, :planets], systems.stepsizes[rows], systems.positions[rows, :points, :planets]
        numbers = np.concatenate([part.reshape(len(rows), -1) for part in parts], axis=1)
        return source.written(systems[rows[:1]])[0], asks, numbers, None

    return Records.grouped(list(zip(systems.planets.tolist(), systems.points.tolist(), strict=True)), decimals, make)


def _along_the_gap(model: NumberModel, records: Records, rows: list[Rows]) -> dict[str, np.ndarray]:
    """How likely each value of a₁ is, for some systems of the largest shape, in the order of their true a₁."""
    which = max(range(len(rows)), key=lambda index: len(rows[index]))
    part, true = rows[which], torch.from_numpy(records.numbers[which][:, records.shapes[which].asks["a1"][0]])
    order = true.argsort()
    chosen = order[torch.linspace(0, len(order) - 1, min(GAP_ROWS, len(order))).round().long()]
    where = chosen.to(part.ids.device)
    some = Rows(part.ids[where], part.slots[where], part.bits[where], part.lengths[chosen], part.asks)
    found = likelihoods(model, some, "a1", torch.from_numpy(GAP_LINE), records.decimals)
    return {"gap_gold": true[chosen].numpy(), "gap_line": GAP_LINE, "gap_likelihood": found.numpy()}
