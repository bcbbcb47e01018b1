"""Tables 4 and 5 and their figures, from figures and predictions made by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from numerate_lab.papers.xval2023.record_figures import distributions, likelihood_along, nature_figures, predictions
from numerate_lab.papers.xval2023.record_report import cost_table, error_table, trust_table
from numerate_lab.papers.xval2023.record_tables import config_for


def figure_of(mse: float | None, invalid: float = 0.0, **more: Any) -> dict[str, Any]:
    found = {"mse": {"value": mse}, "invalid": {"value": invalid}, "mse_kelvin": {"value": mse and 4 * mse}}
    return found | more


def training(**more: Any) -> dict[str, Any]:
    told = {"steps": 5, "seconds": 12.4, "tokens_a_record": 333.3, "encoded_a_second": 2000}
    return {"training": told, "parameters": 3_200_000} | more


def test_planets_beside_the_paper() -> None:
    config = config_for("xval-table5", "tiny", ("p10", "float+mixture"))
    sure = {"coverage": {"value": 0.881}, "crps": {"value": 0.0123}}
    cells = {
        "p10": {"samples": [training(**{"test a1": figure_of(0.002, 0.01), "a1-gap a1": figure_of(None, 1.0)})]},
        "float+mixture": {
            "samples": [
                training(**{"test a1": figure_of(0.001, **sure)}),
                training(**{"test a1": figure_of(0.003, **sure)}),
            ]
        },
    }
    simple = {"mean": {"test a1": figure_of(0.5)}}
    text = error_table("xval-table5", config, cells, simple).markdown()
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert rows["p10"].startswith("| p10 | **0.002 (1 % invalid)** | 0.00076 | – (100 % invalid) | 0.0076 | – | 0.2")
    assert rows["float+mixture"].startswith("| float+mixture | **0.002 ± 0.0127** |")  # Student's interval
    assert rows["mean"].startswith("| mean | 0.5 | – |") and "the first 4 times" in text and "5%" in text
    trust = trust_table("xval-table5", config, cells)
    assert trust is not None and "| float+mixture | 88.1 %, 0.0123 |" in trust.markdown()
    assert trust_table("xval-table5", config, {"p10": cells["p10"]}) is None
    assert (
        "| p10 | 0.001 | 333 | 3.20 M | 2,000 | 5 | 12 |"
        in cost_table("xval-table5", config, cells, {"p10": 1e-3, "float+mixture": 1e-3}).markdown()
    )


def test_temperatures_by_budget() -> None:
    config = config_for("xval-table4", "tiny", ("xval+scalar",), source="folder/era5.npz")
    ends = {"interval": {"low": 0.1, "high": 0.3, "estimate": 0.2}}
    run = [training(**{"test last": figure_of(0.2, **ends)})]
    cells = {"xval+scalar": dict.fromkeys(config.budgets, run)}
    simple = {"yesterday": {"test last": figure_of(0.25)}}
    text = error_table("xval-table4", config, cells, simple).markdown()
    assert "| xval+scalar | **0.2 (0.1 to 0.3)** | 1.75 | **0.2 (0.1 to 0.3)** |" in text
    assert "| yesterday | 0.25 | – | 0.25 | 0.25 | 0.25 |" in text and "era5.npz" in text and "folder" not in text
    kelvin = error_table("xval-table4", config, cells, simple, "mse_kelvin").markdown()
    assert "| xval+scalar | **0.8** | **0.8** | **0.8** | **0.8** |" in kelvin and "paper" not in kelvin
    assert "hours (paper)" in cost_table("xval-table4", config, cells, {"xval+scalar": 1e-3}).markdown()


def test_the_papers_temperatures_stand_beside_centred_ones() -> None:
    config = config_for("xval-table4", "small", ("xval+scalar", "p10"))
    assert set(config.budgets) == {"centred-samples", "centred-seconds"}
    cells = {name: {"centred-samples": [training(**{"test last": figure_of(0.2)})]} for name in config.encodings}
    text = error_table("xval-table4", config, cells, {"yesterday": {"test last": figure_of(0.25)}}).markdown()
    assert "| xval+scalar | **0.2** | 1.75 |" in text and "| p10 | **0.2** | 73 |" in text


def columns() -> dict[str, dict[str, torch.Tensor]]:
    gold = torch.linspace(1.0, 2.0, 50)
    said = gold.clone()
    said[7] = torch.nan
    keys = ("test_a1", "test_e1", "test_m1", "a1-gap_a1", "stepsize-between_stepsize", "test_last")
    one = {f"{key}_{what}": values for key in keys for what, values in (("gold", gold), ("predicted", said))}
    gap = {"gap_line": torch.linspace(0.9, 1.2, 7), "gap_gold": torch.tensor([1.0, 1.1])}
    return {"p10": one | gap | {"gap_likelihood": torch.eye(7)[:2]}, "xval+scalar": one}


def test_predictions_are_points_over_the_truth() -> None:
    figure = predictions(columns(), "test_a1", "Axes", marks=[1.5])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["p10", "xval+scalar"]
    points = figure.axes[0].lines[2].get_xydata()
    assert len(points) == 50 and abs(points[3] - [1 + 3 / 49] * 2).max() < 1e-6
    assert figure.axes[0].texts[0].get_text() == "1 of 50 no number"
    with pytest.raises(ValueError, match="at least one encoding"):
        predictions(columns(), "test_nothing")


def test_distributions_are_shares() -> None:
    truth, told = distributions(columns(), "test_m1", bins=5).axes[0].patches
    assert truth.get_data().values.sum() == pytest.approx(1.0)
    assert told.get_data().values.sum() == pytest.approx(49 / 50)  # one was no number


def test_likelihoods_are_rows() -> None:
    figure = likelihood_along(columns(), marks=[1.0])
    assert len(figure.axes) == 1 and figure.axes[0].images[0].get_array().tolist() == torch.eye(7)[:2].tolist()


def test_all_figures_of_a_table() -> None:
    assert len(nature_figures("planets", columns())) == 7 and len(nature_figures("temperature", columns())) == 2
    assert nature_figures("planets", {}) == {}
