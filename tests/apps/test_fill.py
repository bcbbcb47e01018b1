"""`numerate fill`: probable words of a gap, and how a changed number changes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import number_data
import pytest
import torch
from judging_models import facts, judging_model
from tiny_models import new_backbone, tokenizer_of
from typer.testing import CliRunner

import numerate
from numerate.apps import default_model
from numerate.apps import fill as filling
from numerate.apps.calibrating import calibrate
from numerate.apps.fill import fill, fill_gaps, fill_tables, load_model
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


def test_what_is_no_model_is_refused() -> None:
    for other, kind in ((5, "int"), (new_backbone("bert"), "BertForMaskedLM")):
        with pytest.raises(BadInput, match=rf"a model is a NumberModel \(see numerate.attach\), .*, got a {kind}"):
            fill(TEXT, other)


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


def test_the_default_model_is_loaded_once(models: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def counting(name: str) -> Any:
        loaded.append(name)
        return load_model(name)

    monkeypatch.setenv("NUMERATE_MODEL", models[0])
    monkeypatch.setattr(filling, "load_model", counting)
    filling._default.cache_clear()
    assert fill(TEXT) == fill(TEXT) and loaded == [models[0]]
    fill(TEXT, models[0])
    assert loaded == [models[0]] * 2
    filling._default.cache_clear()


def test_bad_input_is_one_line_that_quotes_it(models: list[str], tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("No gap.", {}, r"the text must have a \[MASK\] or \[NUM\], at most 64 of them, got 0 in 'No gap.'"),
        ("The [MASK].", {"swap": ["5"]}, r"--swap needs a number in the text, got none in 'The \[MASK\].'"),
        (TEXT, {"top": 0}, "--top must be positive, got 0"),
        (TEXT, {"top": "3"}, "--top must be a whole number, got '3'"),
        (TEXT, {"top": True}, "--top must be a whole number, got True"),
        (TEXT, {"model": []}, "must have at least one model, got an empty list"),
        (TEXT, {"swap": ["7", "abc"]}, "--swap must be one number, got 'abc'"),
        (TEXT, {"swap": ["7 or 8"]}, "--swap must be one number, got '7 or 8'"),
        (
            "word," * 2000 + "[MASK]",
            {},
            r"a \[MASK\] is not among the first \d+ tokens that .*bare reads: shorten 'word,",
        ),
        (5, {}, "fill takes a text, got int"),  # type: ignore[list-item]
        (
            TEXT,
            {"model": [str(tmp_path / "nowhere")]},
            r"cannot load .*nowhere: there is no such folder, and it is no Hub",
        ),
    ]
    for text, options, message in cases:
        with pytest.raises(BadInput, match=message) as raised:
            fill(text, **{"model": models} | options)
        assert "\n" not in str(raised.value)


def test_a_hub_that_does_not_answer_is_one_line_that_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class ConnectError(Exception):
        """As HTTP libraries have it: no OSError."""

    def file_exists(*_: Any) -> bool:
        raise ConnectError("[Errno -2] Name or service not known")

    monkeypatch.setattr("huggingface_hub.file_exists", file_exists)
    with pytest.raises(BadInput, match=r"^cannot load nowhere: .*'nowhere', and the Hub says: \[Errno -2\] Name"):
        fill(TEXT, model=["nowhere"])


def test_command_writes_json(models: list[str]) -> None:
    result = CliRunner().invoke(app, ["fill", TEXT, "--model", models[1], "--swap", "7", "--json"])
    assert result.exit_code == 0 and result.stdout.count('"moved"') == 2


GAPS = "A [MASK] weighs about [NUM] kg, and the [MASK] is 300 metres tall."


def test_numbers_get_distributions_in_the_style_of_the_text(tmp_path: Path) -> None:
    model = judging_model()
    (found,) = fill("It cost $[NUM] on Monday.", model, top=3)
    (gap,) = found["gaps"]
    distribution = model.predict("It cost $[NUM] on Monday.")
    assert gap["median"] == pytest.approx(float(distribution.median()[0]), rel=1e-6)
    assert gap["interval_90"] == pytest.approx([float(end[0]) for end in distribution.interval(0.9)], rel=1e-6)
    assert not gap["calibrated"] and gap["kind"] == "money" and found["words"] == []
    assert 15 < gap["median"] < 25 and gap["interval_50"][0] > gap["interval_90"][0]
    assert [each["text"] for each in gap["numbers"]] == [each.text for each in distribution.best(3)[0]]
    assert sum(gap["density"]["shares"]) == pytest.approx(0.99, abs=0.005) and len(gap["density"]["edges"]) == 49
    calibrate(model, facts(200, seed=4))
    model.save_pretrained(tmp_path, bits=8)
    (again,) = numerate.fill("It cost $[NUM] on Monday.", str(tmp_path))[0]["gaps"]
    assert again["calibrated"] and again["interval_90"] != gap["interval_90"]
    assert again["median"] == pytest.approx(gap["median"], rel=0.2)


def test_one_number_to_swap_needs_no_list(models: list[str]) -> None:
    for swap in ("450", 450, [450]):
        assert [each["number"] for each in fill(TEXT, models[0], swap=swap, top=1)] == ["45", "450"]


def test_gaps_come_in_reading_order_and_swap_moves_them(models: list[str]) -> None:
    model = judging_model()
    first, other = fill(GAPS, model, swap=["30"], top=2)
    assert [gap["gap"] for gap in first["gaps"]] == ["[MASK]", "[NUM]", "[MASK]"]
    assert [len(gap.get("words", gap.get("numbers"))) for gap in first["gaps"]] == [2, 2, 2]
    assert first["words"] == first["gaps"][0]["words"] and first["moved"] == 0 < other["moved"]
    assert other["text"] == GAPS.replace("300", "30") and other["gaps"][1]["median"] != first["gaps"][1]["median"]
    titles = [str(table.title) for table in fill_tables([first, other])]
    assert titles[:3] == [f"{GAPS}  (gap {place})" for place in (1, 2, 3)] and len(titles) == 6
    with pytest.raises(BadInput, match="bare has no number head"):
        fill(GAPS, models[0])


def test_texts_that_share_a_pass_are_filled_as_each_alone() -> None:
    model = judging_model()
    texts = [GAPS, "It cost $[NUM] on Monday.", "A [MASK] weighs about [NUM] kg, or [NUM] g, the company said."]
    together = fill_gaps(texts, model, "model", 3)
    for text, found in zip(texts, together, strict=True):
        alone = fill(text, model, top=3)[0]["gaps"]
        assert [gap["gap"] for gap in found] == [gap["gap"] for gap in alone]
        for one, other in zip(found, alone, strict=True):
            key, name = ("words", "word") if "words" in one else ("numbers", "text")
            assert [each[name] for each in one[key]] == [each[name] for each in other[key]]
            if key == "numbers":
                assert one["median"] == pytest.approx(other["median"], rel=1e-4)
                assert one["interval_90"] == pytest.approx(other["interval_90"], rel=1e-4)
                assert one["density"]["shares"] == pytest.approx(other["density"]["shares"], abs=1e-4)
                assert sum(one["density"]["shares"]) == pytest.approx(0.99, abs=0.005)
                assert len(one["density"]["edges"]) == 1 + len(one["density"]["shares"])
    with pytest.raises(BadInput, match="must have a"):
        fill_gaps([texts[0], "no gap"], model, "model")


def test_without_a_model_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NUMERATE_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(default_model, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    result = CliRunner().invoke(app, ["fill", "It is [NUM] km."])
    assert result.exit_code == 2 and "no model is given" in result.output and "--model" in result.output
    judging_model().save_pretrained(tmp_path / "models" / "numerate-mini", bits=8)
    result = CliRunner().invoke(app, ["fill", "It cost $[NUM] on Monday.", "--json"])
    assert json.loads(result.output)["gaps"][0]["gap"] == "[NUM]"
    shown = CliRunner().invoke(app, ["fill", "It cost $[NUM] on Monday."]).output
    assert "median" in shown and "90 %" in shown and "█" in shown
