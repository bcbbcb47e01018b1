"""Views into a model: units of its tokens, states and attention that equal the backbone's, and the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of
from typer.testing import CliRunner

from numerate.apps.inner_views import InnerView, Unit, inner_view, order_in_states
from numerate.cli.app import app
from numerate.errors import BadInput
from numerate.modeling.attaching import attach

if TYPE_CHECKING:
    from pathlib import Path

QUESTION, CELLS = "The tower is 324 metres tall.", ["cost", "$1.5 million", "(317)", "tower tall"]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_units_are_words_and_numbers(name: str) -> None:
    wanted = ["The", "tower", "is", "324", "metres", "tall", ".", "cost", "$", "1.5 million", "(317)", "tower", "tall"]
    for recipe in ("subwords", "in-place", "luna"):
        options: Any = {"reader": "standard", "reader_options": {"cell": True}}
        view = inner_view(attach(new_backbone(name), tokenizer_of(name), recipe, **options), QUESTION, CELLS)
        numbers = {unit.label: unit.value for unit in view.units if unit.value is not None}
        assert numbers == {"324": 324.0, "1.5 million": 1.5e6, "(317)": -317.0}
        assert [unit.part for unit in view.units] == sorted(unit.part for unit in view.units)
        if recipe == "luna":  # a number is its subwords and its [NUM]
            assert [unit.label for unit in view.units].count("324") == 2
        else:
            assert [unit.label for unit in view.units] == wanted
        places = [place for unit in view.units for place in unit.tokens]
        assert len(places) == len(set(places))


def test_states_and_attention_equal_the_backbones() -> None:
    backbone, tokenizer = new_backbone("bert").eval(), tokenizer_of("bert")
    before = backbone.config._attn_implementation
    view = inner_view(attach(backbone, tokenizer, "subwords"), "The cat sat.", "A tower, a river")
    assert backbone.config._attn_implementation == before
    backbone.set_attn_implementation("eager")
    batch = tokenizer("The cat sat.", "A tower, a river", return_tensors="pt")
    with torch.no_grad():
        output = backbone(**batch, output_hidden_states=True, output_attentions=True)
    for at, unit in enumerate(view.units):
        own = output.hidden_states[1][0, list(unit.tokens)].mean(0)
        assert torch.allclose(view.states[1][at], own.double(), atol=1e-5)
    weights, rows, columns = view.between(0)
    assert rows == ["The", "cat", "sat", "."] and columns == ["A", "tower", ",", "a", "river"]
    river = list(view.units[-1].tokens)
    share = output.attentions[0][0].mean(0)[list(view.units[1].tokens)].mean(0)[river].sum()
    assert float(weights[1, -1]) == pytest.approx(float(share), rel=1e-4)
    with pytest.raises(BadInput, match="the model has 2 layers, got layer 7"):
        view.between(7)
    with pytest.raises(BadInput, match="needs a second text"):
        inner_view(attach(backbone, tokenizer, "subwords"), "The cat sat.").between()
    for empty in ("", " \n"):
        with pytest.raises(BadInput, match="no word and no number to show in"):
            inner_view(attach(backbone, tokenizer, "subwords"), empty)


def test_order_of_numbers() -> None:
    values = [1.0, 10.0, 100.0, 5000.0]
    units = [Unit(str(value), (at,), 0, value) for at, value in enumerate([*values, 10.0])] + [Unit("x", (5,), 0)]
    line = torch.tensor([*values, 777.0, 9.0]).log10()[None, :, None]
    assert order_in_states(InnerView(units, line, None)) == pytest.approx(1.0)
    far = torch.tensor([0.0, 9.0, 1.0, 0.1, 0.0, 0.0])[None, :, None]
    assert order_in_states(InnerView(units, far, None)) < 0  # type: ignore[operator]
    assert order_in_states(InnerView(units[:3], line[:, :3], None)) is None


def test_the_command_draws_before_and_after(tmp_path: Path) -> None:
    backbone, tokenizer = new_backbone("bert"), tokenizer_of("bert")
    backbone.save_pretrained(tmp_path / "before")
    tokenizer.save_pretrained(tmp_path / "before")
    attach(backbone, tokenizer, "luna").save_pretrained(tmp_path / "after", backbone=True)
    table = tmp_path / "table.csv"
    table.write_text("name#points\ntower#324\ncat#(1,746)\nriver#3%\n", "utf-8")
    arguments = ["see", QUESTION, "--model", str(tmp_path / "before"), "--model", str(tmp_path / "after")]
    more = ["--table", str(table), "--delimiter", "#", "--layers", "0,2", "-o", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, [*arguments, *more])
    assert ran.exit_code == 0, ran.output
    first, second, drawn = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert first["numbers"] == 4 and second["units"] > first["units"] and set(first["order"]) == {"0", "1", "2"}
    for file in (first["attention"], second["attention"], drawn["states"]):
        text = (tmp_path / file).read_text("utf-8")
        assert text.startswith("<?xml") and "tower" in text
    assert "before, layer 0" in text and "after, layer 2" in text
    for options, message in (
        (["--kind", "gif"], "--kind must be one of svg, png, pdf, got 'gif'"),
        (["--layers", "a"], "--layers must be whole numbers by commas"),
        (["--layers", "9"], "--layers must lie between 0 and 2, got 9"),
        (["--table", str(table), "--second", "x"], "give --second or --table, not both"),
        (["--table", str(table), "--delimiter", "##"], "--delimiter must be one character"),
    ):
        failed = CliRunner().invoke(app, [*arguments[:4], *options, "-o", str(tmp_path / "bad")])
        assert failed.exit_code == 2 and message in failed.output
