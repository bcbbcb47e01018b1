"""`numerate fill`: probable words of a gap, and how a changed number changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import number_data
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of
from typer.testing import CliRunner

from numerate.apps.fill import fill, fill_tables
from numerate.cli.app import app
from numerate.errors import BadInput
from numerate.modeling.attaching import attach

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "The [MASK] weighs 45 kg in winter."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A bare masked language model, and a saved one of ours on another."""
    folder: Path = tmp_path_factory.mktemp("models")
    bare = number_data.write_model(folder / "bare", "roberta")
    torch.manual_seed(0)
    model = attach(new_backbone("bert"), tokenizer_of("bert"), "exponent")
    for weight in model.embedder.parameters():
        weight.data.add_(torch.randn_like(weight))
    model.save_pretrained(folder / "ours", backbone=True)
    return [bare, str(folder / "ours")]


def test_words_and_probabilities_are_those_of_the_model(models: list[str]) -> None:
    found = fill(TEXT, models, swap=["45000"], top=4)
    assert [(row["model"], row["number"]) for row in found] == [(m, n) for m in models for n in ("45", "45000")]
    backbone, tokenizer = new_backbone("roberta"), tokenizer_of("roberta")
    rows = []
    for result in found[:2]:
        batch = tokenizer(result["text"].replace("[MASK]", "<mask>"), return_tensors="pt")
        place = batch["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            rows.append(backbone(**batch).logits[0, place].double().softmax(-1))
        best = rows[-1].topk(4)
        assert [word["word"] for word in result["words"]] == [tokenizer.decode([i]).strip() for i in best.indices]
        assert [word["probability"] for word in result["words"]] == pytest.approx(best.values.tolist(), abs=1e-6)
    assert found[0]["moved"] == 0
    assert found[1]["moved"] == pytest.approx(float((rows[0] - rows[1]).abs().sum() / 2), abs=1e-6)
    assert found[1]["text"] == "The [MASK] weighs 45000 kg in winter." and found[3]["moved"] > 0


def test_tables_have_a_column_for_each_model(models: list[str]) -> None:
    tables = fill_tables(fill(TEXT, models, swap=["7"], top=3))
    assert [(str(table.title), len(table.columns), table.row_count) for table in tables] == [
        (TEXT, 2, 3),
        (TEXT.replace("45", "7"), 2, 3),
    ]


def test_bad_input_is_one_line_that_quotes_it(models: list[str], tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("No gap.", {}, r"the text must have a \[MASK\] or \[NUM\], at most 64 of them, got 0 in 'No gap.'"),
        ("The [MASK].", {"swap": ["5"]}, r"--swap needs a number in the text, got none in 'The \[MASK\].'"),
        (TEXT, {"top": 0}, "--top must be positive, got 0"),
        (TEXT, {"swap": ["7", "abc"]}, "--swap must be one number, got 'abc'"),
        (TEXT, {"swap": ["7 or 8"]}, "--swap must be one number, got '7 or 8'"),
        (TEXT + " word" * 2000, {}, r"bare cannot read \d+ tokens: "),
        (TEXT, {"model": [str(tmp_path / "nowhere")]}, r"cannot load .*nowhere: "),
    ]
    for text, options, message in cases:
        with pytest.raises(BadInput, match=message) as raised:
            fill(text, **{"model": models} | options)
        assert "\n" not in str(raised.value)


def test_command_writes_json(models: list[str]) -> None:
    result = CliRunner().invoke(app, ["fill", TEXT, "--model", models[1], "--swap", "7", "--json"])
    assert result.exit_code == 0 and result.stdout.count('"moved"') == 2
