"""What the page of `numerate play` shows: text as text, limits, densities, words that move with a number."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from judging_models import judging_model

from numerate.apps import play_parts
from numerate.apps.fill import load_model
from numerate.apps.play import build_page, play
from numerate.apps.play_answers import PageDesk
from numerate.apps.play_models import MOST_TOGETHER, ModelProcesses, ModelsHere
from numerate.apps.play_parts import (
    checked_html,
    marked_html,
    moved_text,
    number_names,
    result_text,
    safely,
)
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = re.compile(r"\d+(?:\.\d+)?")
SCRIPT = "<script>alert(5)</script> of 45 kg & <b>7</b>"


def here(names: list[str]) -> ModelsHere:
    return ModelsHere([judging_model()] * len(names), names)


def test_markup_is_shown_as_text() -> None:
    shown = marked_html(SCRIPT)
    assert "<script" not in shown and "<b>" not in shown and "&lt;script&gt;" in shown
    assert shown.count("<mark") == 3 and 'title="45 kg, quantity"' in shown
    said = safely(lambda text: here(["<i>"])("densities", text))(f"[NUM] {SCRIPT}")
    assert "<script" not in said and "<i>" not in said and "<svg" in said


def test_a_number_moves_by_powers_of_ten_in_its_style() -> None:
    text = "It cost $1,500 and 4.5 kg in 1999."
    assert number_names(text) == ["1: 1,500", "2: 4.5", "3: 1999"]
    assert moved_text(text, "1: 1,500", 1) == text.replace("1,500", "15,000")
    assert moved_text(text, "2: 4.5", -2) == text.replace("4.5", "0.045")
    for text_of, factor, expected in (
        ("$1.5 billion", -1, "$0.15 billion"), ("$1.5 billion", 0.35, "$3.36 billion"), ("up 3.2%", 1, "up 32%"),
    ):  # fmt: skip
        assert moved_text(text_of, "1", factor) == expected
    assert moved_text(text, "9: 3", 1) == moved_text(text, None, 0) == text
    shown = here(["one", "two"])("words", "The [MASK] is 300 metres tall.", "1: 300", 1)
    assert shown.count("<table>") == 2 and ">3000</mark>" in shown


def test_input_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for refused in (
        safely(lambda: here(["one"])("densities", "[NUM]" + "x" * 3000)),
        safely(lambda: moved_text("5" * 3000, None, 1)),
        safely(lambda: checked_html("1 " * 5_000_000, None, None)),
    ):
        assert "at most" in refused() and "numerate-error" in refused()
    big = tmp_path / "big.csv"
    big.write_bytes(b"1,2\n" * 100)
    monkeypatch.setattr(play_parts, "MAX_FILE_BYTES", 100)
    assert "at most 100 are read" in safely(lambda: checked_html("", str(big), None))()


def test_what_cannot_be_checked_is_said_without_the_upload_folder(tmp_path: Path) -> None:
    binary, empty = tmp_path / "a.bin", tmp_path / "b.txt"
    binary.write_bytes(bytes(range(256)) * 20)
    empty.write_bytes(b"")
    said = safely(lambda: checked_html("", str(binary), None))()
    assert "binary file left out" in said and "a.bin" in said and str(tmp_path) not in said
    assert "Nothing to check" in checked_html("5 kg", str(empty), None)
    assert "Nothing to check" in checked_html(" ", None, None) and "looks wrong" in checked_html("5 kg", None, None)


def test_only_listed_results_are_read(tmp_path: Path) -> None:
    (tmp_path / "table.md").write_text("| a |")
    assert result_text("table.md", tmp_path) == "| a |"
    assert "no results" in result_text("../../etc/passwd", tmp_path) and "no results" in result_text(None, tmp_path)


def test_a_model_serves_one_request_at_a_time() -> None:
    """Two passes of one `NumberModel` at once mix their state: a third of 1,000 requests of 50 users failed."""
    inside, most = [], []

    def pass_of_a_model(asked: list[tuple[str, tuple[str]]]) -> list[str]:
        ((_, (number,)),) = asked
        inside.append(number)
        most.append(len(inside))
        time.sleep(0.005)
        inside.remove(number)
        return [number]

    models = here(["one"])
    models._desk.answer = pass_of_a_model  # type: ignore[assignment]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda k: models(("words", "densities")[k % 2], str(k)), range(16)))
    assert answers == [str(k) for k in range(16)] and max(most) == 1


REQUESTS = [
    ("words", ("The [MASK] weighs 45 kg.", "1: 45", 1.0)),
    ("densities", ("The [MASK] is [NUM] metres tall and [NUM] m wide.",)),
    ("words", ("Nothing to fill, 5 kg.", None, 1.0)),
    ("densities", ("No gap.",)),
    ("checked", ("The lake is 28 km (27 mi) long. It has 12 men and 15 women, 28 people in all.", None)),
    ("checked", ("a,b,sum\n11,22,33\n14,25,39\n31,13,44\n17,18,36\n", None)),
    ("checked", ("  ", None)),
    ("densities", ("It weighs [NUM] kg.",)),
]


def assert_alike(one: Any, other: Any) -> None:
    """Two answers are equal but for rounding: other batches round otherwise, in the last place of pixels and digits."""
    texts = str(one), str(other)
    assert NUMBERS.split(texts[0]) == NUMBERS.split(texts[1])
    pairs = [[float(number) for number in NUMBERS.findall(text)] for text in texts]
    assert pairs[0] == pytest.approx(pairs[1], rel=0.02, abs=0.3)


def test_requests_that_are_answered_together_are_answered_as_alone() -> None:
    desk = PageDesk([judging_model(), judging_model()], ["one", "two"])
    asked = [*REQUESTS, ("densities", ("[NUM]" * 100,)), ("words", ("[MASK] " + "x" * 3000, None, 0.0))]
    together = desk.answer(asked)
    for one, each in zip(together, asked, strict=True):
        assert_alike(one, desk.answer([each])[0])
    assert [type(each) for each in together] == [str] * len(REQUESTS) + [BadInput] * 2
    assert "17 mi" in together[4] and "sum" in together[5] and "looks wrong" not in together[4]


def test_long_requests_keep_nobody_waiting() -> None:
    processes = ModelProcesses.__new__(ModelProcesses)
    processes._changed, processes._closing = threading.Condition(), False
    long = ("checked", ("5 kg. " * 1000, None)), Future[str]()
    short = [(each, Future[str]()) for each in REQUESTS]
    processes._waiting = deque([*short[:3], long, *short[3:], *short, *short])
    taken = [processes._taken() for _ in range(4)]
    assert [len(each) for each in taken] == [3, 1, MOST_TOGETHER, 5] and taken[1] == [long]


@pytest.mark.slow
def test_models_in_processes_answer_alike_and_come_back(tmp_path: Path) -> None:
    model = judging_model()
    model.save_pretrained(tmp_path / "one")
    processes = ModelProcesses([str(tmp_path / "one")], processes=1)
    try:
        asked = "densities", "It weighs [NUM] kg."
        answer = processes(*asked)
        assert "one" in answer and answer == ModelsHere([load_model(str(tmp_path / "one"))], ["one"])(*asked)
        for process in processes._pool._processes.values():
            process.kill()
        assert processes(*asked) == answer
        with pytest.raises(BadInput, match="at most"):
            processes("densities", "[NUM] " * 3000)
        with ThreadPoolExecutor(len(REQUESTS)) as pool:
            shown = list(pool.map(lambda each: processes(each[0], *each[1]), REQUESTS))
        expected = PageDesk([load_model(str(tmp_path / "one"))], ["one"]).answer(REQUESTS)
        for one, other in zip(shown, expected, strict=True):  # which requests share a pass depends on the time
            assert_alike(one, other)
    finally:
        processes.close()
    with pytest.raises(BadInput, match="nowhere"):
        ModelProcesses([str(tmp_path / "nowhere")])


def test_gradio_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(BadInput, match=r"pip install 'numerate\[play\]'"):
        build_page(ModelsHere([judging_model()], ["one"]))
    with pytest.raises(BadInput, match="at most two models"):
        play(["a", "b", "c"])
