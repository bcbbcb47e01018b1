"""`literacy-rates` and `masked-numbers-rates`: whole trainings at every rate, two choices, calibrated intervals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from numerate_lab.engine.grid import against_base, best_rate, finals, recompute
from numerate_lab.engine.paper_tables import Options, reproduce
from numerate_lab.papers.literacy2021.tables import Literacy
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWords
from numerate_lab.tasks.masked_prediction.number_guesses import baseline_guesses
from numerate_lab.tasks.masked_prediction.prediction_setup import build, encoding_fields, load_split

if TYPE_CHECKING:
    from pathlib import Path

    from numerate_lab.engine.grid import Grid


def options_in(folder: Path, output: Path, *encoders: str, **more: Any) -> Options:
    given: dict[str, Any] = {"data": str(folder / "data"), "models": (str(folder / "bert"),), "corpora": ("units",)}
    given |= {"plain": str(folder / "data" / "plain.jsonl"), "encoders": encoders, "output": str(output)}
    return Options(**given | {"log": lambda line: None} | more)


@pytest.fixture(scope="module")
def words(prediction_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Grid], Path]:
    """Two encodings at two rates, and the folder of their results."""
    output = tmp_path_factory.mktemp("words")
    options = options_in(prediction_folder, output, "default", "exponent")
    reproduce("literacy-rates", options)
    return Literacy().grids("literacy-rates", options), output


def test_both_choices_share_their_trainings(words: tuple[list[Grid], Path]) -> None:
    (by_all, by_unit), output = words
    folder = output / by_all.name
    assert by_all.name == by_unit.name == "units-bert-head-rates" and len(by_all.rates) == 2
    trials = sorted(file.name for file in folder.glob("*-seed*.json"))
    assert len(trials) == 2 * 2, "each encoding at each rate, on the whole budget, once"
    for grid, group in ((by_all, "all"), (by_unit, "unit")):
        for name in grid.encodings:
            errors = {}
            for rate, trial in grid.tries(name).items():
                assert trial == grid.finals(name, rate)[0], "a try is a final training"
                found = json.loads((folder / f"{trial.name}.json").read_text("utf-8"))["figures"]
                assert {"dev", "test", "plain"} <= set(found)
                errors[rate] = found["dev"][group]["nats"]
            assert best_rate(grid, output, name) == min(errors, key=errors.__getitem__)
        (one,), (base,) = finals(grid, output, "exponent"), finals(grid, output, "default")
        found = against_base(grid, output, "exponent")["unit told once"]
        assert found["nats"] == pytest.approx(one.figures["test"]["unit told once"]["nats"], rel=1e-6)
        assert found["other_nats"] == pytest.approx(base.figures["test"]["unit told once"]["nats"], rel=1e-6)
        assert all(recompute(grid, output).values())
    text = (output / "literacy-rates-units-bert-head.md").read_text("utf-8")
    assert "rates chosen by all words" in text and "rates chosen by unit words" in text


def test_words_are_divided_by_what_the_sentence_tells(words: tuple[list[Grid], Path]) -> None:
    (grid, _), output = words
    trial: Any = grid.of("default")
    restated = baseline_guesses(trial, "test")[1]
    groups, positions = MaskedWords(trial).groups("test"), load_split(trial, "test")[1]
    for group in ("all", "unit"):
        once, again = groups[f"{group} told once"], groups[f"{group} restated"]
        assert not (once & again).any() and ((once | again) == groups[group]).all()
        assert (restated[positions.sentence[again]]).all() and not restated[positions.sentence[once]].any()
    counts = finals(grid, output, "default")[0].figures["test"]
    assert counts["all told once"]["count"] + counts["all restated"]["count"] == counts["all"]["count"]


def test_intervals_are_calibrated_on_dev(prediction_folder: Path, tmp_path: Path) -> None:
    names = ("default+mixture", "default-all+ratios", "spelled")
    options = options_in(prediction_folder, tmp_path, *names)
    reproduce("masked-numbers-rates", options)
    (grid,) = Literacy().grids("masked-numbers-rates", options)
    for name in names:
        (run,) = finals(grid, tmp_path, name)
        assert len(run.columns()["test_calibration"]) == run.figures["dev"]["count"] + run.figures["dev"]["missing"]
        assert {"calibrated_90", "calibrated_90_told_once", "coverage_90_told_once"} <= set(run.figures["test"])
    assert all(recompute(grid, tmp_path).values())
    text = (tmp_path / "masked-numbers-rates-units-bert-head.md").read_text("utf-8")
    head = next(line for line in text.replace("\\", "").splitlines() if line.startswith("| encoder + head"))
    assert head.split(" | ")[1:3] == ["log_mae_told_once", "told once, of the best baseline"]
    assert "calibrated_90" in head and "split conformal" in text


def test_encodings_are_what_was_measured(prediction_folder: Path) -> None:
    def made(name: str) -> Any:
        trial = Literacy().grids("literacy-rates", options_in(prediction_folder, prediction_folder, name))[0].of(name)
        return build(trial)  # type: ignore[arg-type]

    # Only the encodings with `relations` in their name see ratios, whatever the recipe in-place has by now.
    for name, ratios in (("late-blind", False), ("in-place-late-relations", True), ("in-place-recipe", True)):
        assert (made(name).relations is not None) == ratios, name
    blind, plain, wide = made("late-blind"), made("default"), made("default-wide")
    assert blind.late_reach is not None and blind.embedder.config.kind == "num" and not blind.head.looks_back
    more = wide.trainable_parameters()[0] - plain.trainable_parameters()[0]
    assert more == pytest.approx(encoding_fields("default-wide")["more_weights"], rel=1e-3)
    assert wide.wider.layers[2].weight.requires_grad and not wide.wider.layers[2].weight.any()
