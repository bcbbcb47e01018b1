"""Training and testing of one cell of xVal's Tables 4 and 5, with its files: `<name>.json` and `<name>.npz`."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.training.results import read_figures, write, write_predictions
from numerate_lab.engine.trunk_trial import steps_for, take_steps, time_steps
from numerate_lab.tasks.records.record_answers import Said, answers, likelihoods, missed, scores
from numerate_lab.tasks.records.record_rows import Rows
from numerate_lab.tasks.records.record_trial import NatureCell, NatureData, Ready, build, encode_records

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.records.record_arrays import Records

__all__ = ["ends_of", "run_cell", "speed_file", "time_alone", "train"]

EVALUATED_AT_ONCE = 200_000
"""Tokens of a batch in evaluation."""
GAP_ROWS, GAP_LINE = 24, np.round(np.arange(0.95, 1.2501, 0.005), 4)
"""How many systems in the gap are looked at closely, and for which values of a₁."""


def train(
    model: NumberModel, cell: NatureCell, records: Records, look: Any = None, seconds_a_step: float | None = None
) -> dict[str, Any]:
    """Trains for the cell's budget: steps, seconds, losses, tokens a record, and how fast records were encoded.

    Args:
        model: What `build` gave, on its device.
        cell: The cell.
        records: To learn from.
        look: Called a few times on the way; what it gives is kept.
        seconds_a_step: For a budget of time, what `time_alone` found.
    """
    start = time.perf_counter()
    ready = Ready(encode_records(model, records, model.device), cell)
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    speed = len(records) / (time.perf_counter() - start)
    steps = steps_for(cell, ready.tokens_a_record, seconds_a_step)
    found = take_steps(model, cell, ready, steps, model.device, look)
    tokens = round(ready.tokens_a_record, 2)
    found |= {} if seconds_a_step is None else {"seconds_a_step": seconds_a_step}
    return found | {"tokens_a_record": tokens, "encoded_a_second": round(speed)}


def speed_file(cell: NatureCell, folder: str | Path) -> Path:
    """Where `time_alone` writes what it finds."""
    return Path(folder) / f"speed-{cell.encoding}{'-centred' if cell.centred else ''}.json"


def time_alone(cell: NatureCell, folder: str | Path, data: str | Path) -> float:
    """Measures how many seconds a cell's step takes while no other is running, and writes it into the folder.

    Cells of equal time are trained side by side, too, and a step that waits for others says nothing of its encoding.

    Args:
        cell: Of any rate and seed.
        folder: Where to write.
        data: See `run_cell`.
    """
    records = NatureData(cell, data).records("train")
    model = build(cell, records).to("cuda" if torch.cuda.is_available() else "cpu")
    ready = Ready(encode_records(model, records, model.device), cell)
    found = time_steps(model, cell, ready, model.device)
    figures = {"seconds_a_step": found, "tokens_a_record": round(ready.tokens_a_record, 2)}
    write(speed_file(cell, folder), config=cell.told(), figures=figures)
    return found


def _seconds_a_step(cell: NatureCell, folder: Path) -> float:
    file = speed_file(cell, folder)
    if not file.is_file():
        raise ValueError(f"{file}: no such file; a budget of time needs `time_alone` first, while nothing else runs")
    return read_figures(file)["seconds_a_step"]


def run_cell(cell: NatureCell, folder: str | Path, data: str | Path, *, test: bool = True) -> dict[str, Any]:
    """Trains and tests one cell, and writes its files into the folder; the figures.

    Tested are the weights that did best on dev records, of those at the looks and at the end.

    Args:
        cell: The cell.
        folder: Where to write; for a budget of time, `time_alone` has written there.
        data: The folder of its records, see `NatureData`.
        test: Whether it is tested; one that only tries a learning rate is not, and has no predictions to keep.
    """
    source, target = NatureData(cell, data), Path(folder)
    training, held = source.records("train"), source.records("dev")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build(cell, training).to(device)
    dev = encode_records(model, held, device)

    def measured() -> dict[str, Any]:
        return {ask: _measured(source, "dev", held, ask, _said(model, held, dev, ask)) for ask in cell.splits["test"]}

    best = _Best(model)

    def look() -> dict[str, Any]:
        found = measured()
        best.see(found)
        return {ask: one["mse"]["value"] for ask, one in found.items()}

    seconds = _seconds_a_step(cell, target) if cell.budget == "seconds" else None
    trained = train(model, cell, training, look if cell.looks else None, seconds)
    ended = measured()
    at = best.restore(ended)
    trained["kept"] = trained["steps"] if at is None else trained["looks"][at]["step"]
    figures: dict[str, Any] = {"training": trained, "parameters": model.trainable_parameters()[1]}
    figures["dev"] = ended if at is None else measured()
    columns: dict[str, torch.Tensor] = {}
    for split, asks in cell.splits.items() if test else ():
        records = source.records(split)
        rows = encode_records(model, records, device)
        for ask in asks:
            said = _said(model, records, rows, ask)
            figures[f"{split} {ask}"] = _measured(source, split, records, ask, said)
            columns[f"{split}_{ask}_predicted"] = said.values
            columns[f"{split}_{ask}_gold"] = torch.from_numpy(records.gold(ask))
            if said.intervals is not None:
                columns |= {f"{split}_{ask}_{end}": said.intervals[:, k] for k, end in enumerate(("low", "high"))}
        # A scalar's spread is a setting: its likelihood would tell nothing.
        if split == "a1-gap" and (model.head is None or model.head.config.kind != "scalar"):
            columns |= _along_the_gap(model, records, rows)
    if columns and cell.task == "temperature":
        columns["kelvin"] = torch.tensor(source.task.kelvin, dtype=torch.float64)
    if columns:
        write_predictions(target / f"{cell.name}.npz", columns, exact=[name for name in columns if "gold" in name])
    write(target / f"{cell.name}.json", config=cell.told(), figures=figures)
    return figures


class _Best:
    """The weights that did best on dev records: a few weeks of weather are soon known by heart."""

    def __init__(self, model: NumberModel) -> None:
        self.model, self.least, self.at, self.looks = model, math.inf, 0, 0
        self.weights: dict[str, torch.Tensor] = {}

    def see(self, dev: dict[str, Any]) -> None:
        """Keeps the weights as they are now, if none did better before."""
        if (now := missed(dev)) < self.least:
            self.least, self.at = now, self.looks
            self.weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self.looks += 1

    def restore(self, dev: dict[str, Any]) -> int | None:
        """Puts the kept weights back, and says which look they are from; None if those of the end do as well."""
        if not self.weights or missed(dev) <= self.least:
            return None
        self.model.load_state_dict(self.weights)
        return self.at


def _said(model: NumberModel, records: Records, rows: list[Rows], ask: str) -> Said:
    """Answers in the order of all records; where they were asked as differences, as what they mean."""
    found, widths = [], []
    for part in rows:
        size = max(1, EVALUATED_AT_ONCE // part.ids.shape[1] // (8 if len(model.processor.own_tokens) > 10_000 else 1))
        found.append(answers(model, part, ask, size))
        widths.append(len(part.asks[ask]))
    whole = Said.joined(found)

    def ordered(values: torch.Tensor) -> torch.Tensor:
        sizes = [len(part) * width for part, width in zip(rows, widths, strict=True)]
        parts = [one.numpy().reshape(-1, width) for one, width in zip(values.split(sizes), widths, strict=True)]
        if records.guesses:
            parts = [one + guess for one, guess in zip(parts, records.guesses, strict=True)]
        return torch.from_numpy(records.in_order(parts))

    if whole.intervals is None:
        return Said(ordered(whole.values))
    ends = torch.stack([ordered(whole.intervals[:, k]) for k in (0, 1)], dim=1)
    return Said(ordered(whole.values), ends, whole.crps, whole.count)


def _measured(source: NatureData, split: str, records: Records, ask: str, said: Said) -> dict[str, Any]:
    found = scores(said.values, torch.from_numpy(records.gold(ask)), said)
    if source.cell.task == "temperature":
        task: Any = source.task
        found["mse_kelvin"] = found["mse"] | {"value": _times(found["mse"]["value"], task.kelvin**2)}
        if split == "test":
            truth = task.truth(split, source.cell.test)
            found["interval"] = ends_of(task.interval(said.values.numpy(), truth))
            best = task.baselines(split, source.cell.test)["yesterday"]
            found["beyond yesterday"] = ends_of(task.interval(said.values.numpy(), truth, best))
    return found


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def ends_of(found: Any) -> dict[str, Any]:
    """An interval as JSON types."""
    values = {name: getattr(found, name) for name in ("estimate", "low", "high")}
    return {name: value if math.isfinite(value) else None for name, value in values.items()} | {"days": found.clusters}


def _along_the_gap(model: NumberModel, records: Records, rows: list[Rows]) -> dict[str, torch.Tensor]:
    """For some systems of the largest shape, from the smallest a₁ to the largest, how likely each value is."""
    which = max(range(len(rows)), key=lambda index: len(rows[index]))
    part, true = rows[which], torch.from_numpy(records.numbers[which][:, records.shapes[which].asks["a1"][0]])
    order = true.argsort()
    chosen = order[torch.linspace(0, len(order) - 1, min(GAP_ROWS, len(order))).round().long()]
    where = chosen.to(part.ids.device)
    some = Rows(part.ids[where], part.slots[where], part.bits[where], part.lengths[chosen], part.asks)
    line = torch.from_numpy(GAP_LINE)
    return {
        "gap_gold": true[chosen],
        "gap_line": line,
        "gap_likelihood": likelihoods(model, some, "a1", line, records.decimals),
    }
