"""A model's opinion of the numbers of documents: findings at their places, slips named, alarms as often as asked."""

from __future__ import annotations

import functools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from judging_models import facts, judging_model
from typer.testing import CliRunner

from numerate.apps.calibrating import calibrate
from numerate.apps.check import check
from numerate.apps.documents import Document
from numerate.apps.fill import fill
from numerate.apps.plausible import PlausibilityChecker, judgements
from numerate.apps.shown_texts import units_of
from numerate.cli.app import app
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.modeling.number_calibration import NumberCalibration


@functools.cache
def calibration() -> NumberCalibration:
    rows = [f"Tower: big; Height: {text}" for text in facts(90, seed=2)]
    return calibrate(judging_model(), facts(450, seed=1), rows=rows, about="invented facts")


def checker(**options: Any) -> PlausibilityChecker:
    return PlausibilityChecker(judging_model(), calibration=calibration(), **options)


def test_false_alarms_are_as_many_as_asked_for() -> None:
    assert calibration().about == "invented facts" and calibration().held_out["cell-all"] == 90
    every = judgements(judging_model(), facts(450, seed=3), calibration=calibration(), explain=0, measure="slip")
    for kind, share in (("money", 0.05), ("quantity", 0.2)):
        some = [each for each in every if each.numeral.kind == kind]
        scores = {"bits": [each.bits for each in some], "tail": [-math.log2(each.tail) for each in some]}
        found = {name: calibration().p_values(name, [kind] * len(some), np.array(scores[name])) for name in scores}
        found["slip"] = np.array([each.p for each in some])
        for name, p in found.items():
            assert (p <= share).mean() == pytest.approx(share, abs=0.07), (name, kind)


def test_threads_are_answered_one_after_the_other() -> None:
    """As in a web service: the state that a pass records must not be another thread's."""
    texts = [f"The tower is {height} metres tall." for height in range(3, 3000, 150)]
    gaps = [f"The [MASK] of {height} metres is [NUM] m wide." for height in range(1, 21)]
    judge, model = checker(false_alarms=0.5), judging_model()
    expected = [check(text, model=judge) for text in texts], [fill(gap, model) for gap in gaps]
    with ThreadPoolExecutor(4) as threads:
        checked = threads.map(lambda text: check(text, model=judge), texts)
        filled = threads.map(lambda gap: fill(gap, model), gaps)
        assert (list(checked), list(filled)) == expected


def test_a_slip_is_found_at_its_place_and_named() -> None:
    text = "The tower is 310 metres tall. A cat weighs about 41 kg, the company said.\nIt cost $20 on Monday."
    (found,) = checker(false_alarms=0.01).check(Document(kind="text", text=text))
    assert found.span == (text.index("41"), text.index("41") + 2) and found.written == "41"
    assert (found.rule, found.meant) == ("plausible-slip", "4.1") and found.probability > 0.5
    assert "factor of ten" in found.message and "4.1" in found.message
    evidence = found.evidence
    assert (
        evidence["p"] <= 0.01 and evidence["bits"] > 3 and evidence["interval_90"][0] < 4.1 < evidence["interval_90"][1]
    )
    assert evidence["slips"][0]["ratio"] >= 100


def test_what_has_no_better_reading_is_only_unusual() -> None:
    (found,) = checker(false_alarms=0.005, ratio=1e12).check(Document(kind="text", text="The tower is 77 metres tall."))
    assert found.rule == "implausible" and found.meant is None and "unusual" in found.message


def test_cells_of_tables_are_found_by_row_and_column() -> None:
    rows = [["big", "The tower is 310 metres tall."], ["", ""], ["small", "The tower is 3000 metres tall."]]
    document = Document(kind="table", header=("Tower", "Height"), rows=rows, first_row=7, caption="Towers of 1999")
    found = checker(false_alarms=0.03).check(document)
    assert [(each.cell, each.span, each.key, each.written) for each in found] == [((9, 1), (13, 17), "Height", "3000")]
    assert [unit.row for unit in units_of(document)] == [7, 9]


def test_a_doubt_yields_to_the_column_and_to_what_others_confirm() -> None:
    judge, header = checker(false_alarms=0.1), ("item", "cost")

    def doubted(*prices: str, last: str = "house") -> list[Any]:
        names = ["cat", "tower", "boat", "mill", "farm"][: len(prices) - 1]
        rows = [[name, price] for name, price in zip([*names, last], prices, strict=True)]
        return [each.cell for each in judge.check(Document(kind="table", header=header, rows=rows))]

    assert (1, 1) in doubted("$20", "$9000", "$2020", last="Total")
    assert doubted("$20", "$9000", "$9020", last="Total") == []
    assert (0, 1) in doubted("$9000", "$22", "$19", "$20", "$21") and (0, 1) not in doubted("$9000", *["$8700"] * 4)
    text = "The tower is 3000 metres (9843 ft) tall."
    assert judge.check(Document(kind="text", text=text)) == []
    found = judge.check(Document(kind="text", text=text.replace("(9843 ft) ", "")))
    assert "3000" in [each.written for each in found]


def test_documents_that_share_passes_get_the_findings_of_each_alone() -> None:
    judge = checker(false_alarms=0.05)
    texts = [" ".join(facts(6)), "The tower is 3 metres tall. It cost $21 on Monday.", "no numbers"]
    documents = [Document(kind="text", text=text) for text in texts]
    documents.insert(1, Document(kind="table", header=("item", "cost"), rows=[["cat", "$20"], ["tower", "$9000"]]))
    together = judge.check_all(documents)
    alone = [judge.check(document) for document in documents]
    assert [[(each.rule, each.span, each.cell) for each in found] for found in together] == [
        [(each.rule, each.span, each.cell) for each in found] for found in alone
    ]
    assert together[2] and not together[3]


def test_fast_agrees_on_what_is_wrong() -> None:
    texts = [*facts(60, seed=5), "It cost $20 on Monday, and $2000 on Monday."]
    slow, fast = (checker(false_alarms=0.01, fast=flag).judge(texts) for flag in (False, True))
    assert [(each.row, each.numeral.start) for each in slow] == [(each.row, each.numeral.start) for each in fast]
    # Numbers that are alone in their text are judged in the same way; the last text has two.
    assert [each.p for each in slow[:-2]] == pytest.approx([each.p for each in fast[:-2]], rel=1e-3)
    assert slow[-1].p <= 0.01 and fast[-1].p <= 0.01


def test_half_a_character_does_not_end_the_check() -> None:
    text = "A cat \ud83d weighs about 39.0 kg, the company said."
    judge = checker(false_alarms=0.02)
    for document in (
        Document(kind="text", text=text), Document(kind="records", header=["a\ud83d"], rows=[[text], ["4.1"]])
    ):  # fmt: skip
        judge.check(document)
        assert any("\ufffd" in unit.text for unit in units_of(document))


def test_long_sentences_are_cut_and_each_number_is_asked_for_once() -> None:
    text = " and ".join(f"the tower is {300 + index} metres tall" for index in range(60)) + "."
    units = list(units_of(Document(kind="text", text=text)))
    assert len(units) > 3 and all(len(unit.text) <= 360 for unit in units)
    asked = []
    for unit in units:
        assert text[unit.start : unit.start + len(unit.text)] == unit.text
        for index in range(60):
            place = unit.text.find(f" {300 + index} ")
            if place >= 0 and unit.keep[0] <= place + 1 < unit.keep[1]:
                asked.append(300 + index)
    assert asked == list(range(300, 360))


def test_bad_arguments_are_one_line() -> None:
    model = judging_model()
    for options, said in (
        ({"false_alarms": 0}, "false_alarms"),
        ({"ratio": 1}, "ratio"),
        ({"measure": "x"}, "measure"),
    ):
        with pytest.raises(BadInput, match=f"{said} must"):
            PlausibilityChecker(model, **options)
    with pytest.raises(BadInput, match="at least 30 numbers, got 3"):
        calibrate(model, facts(3))


def test_the_command_checks_with_a_model_and_own_documents(tmp_path: Path) -> None:
    model = judging_model()
    model.save_pretrained(tmp_path / "model", bits=8)
    (tmp_path / "right.txt").write_text("\n\n".join(facts(200, seed=6)))
    (tmp_path / "report.txt").write_text("A cat weighs about 41 kg, the company said.\n\nIt cost $20 on Monday.\n")
    arguments = ["check", str(tmp_path / "report.txt"), "--model", str(tmp_path / "model"), "--json"]
    arguments += ["--calibrate", str(tmp_path / "right.txt"), "--false-alarms", "0.02"]
    result = CliRunner().invoke(app, arguments)
    (found,) = json.loads(result.output)["findings"]
    assert result.exit_code == 1 and (found["written"], found["meant"], found["line"]) == ("41", "4.1", 1)
    few = CliRunner().invoke(app, [*arguments[:-1], "0.001"])
    assert json.loads(few.stdout)["findings"] == []
    assert "too few numbers to report 0.1 % of them, so that none is doubted: all (200), " in few.stderr
    assert "too few" not in result.stderr
    result = CliRunner().invoke(app, ["check", str(tmp_path / "report.txt"), "--calibrate", "x"])
    assert result.exit_code == 2 and "give --model" in result.output
