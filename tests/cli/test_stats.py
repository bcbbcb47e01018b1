from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING

import pytest

import numerate
from numerate.cli.corpus_tables import stats_table
from numerate.cli.stats import CorpusStats, stats_of_file
from numerate.cli.tally import Quantiles, TypeCounts
from numerate.reading import make_reader

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "The price rose 3.2% to $1,500 in 2023 .",
    "no numbers at all",
    "",
    "temperatures of -5 , 0 and 007 degrees , 6,000 and 6000",
]


def stats(texts: list[str], reader: str = "standard", cap: int = 1000) -> dict:
    collected = CorpusStats(make_reader(reader), cap)
    for text in texts:
        collected.add(text)
    return collected.result()


def test_figures_of_a_small_corpus() -> None:
    found = stats(TEXTS)
    values = [n.value for text in TEXTS for n in numerate.find(text)]
    assert values == [0.032, 1500.0, 2023.0, -5.0, 0.0, 7.0, 6000.0, 6000.0]
    assert (found["texts"], found["empty_texts"], found["numerals"]) == (3, 1, 8)
    assert found["words"] == 5 + 4 + 5  # the price rose to in / no numbers at all / temperatures of and degrees and
    assert found["other_signs"] == 2 + 2  # $ . / , ,
    assert found["tokens"] == 8 + 14 + 4
    assert found["share_numerals"] == 8 / 26 and found["share_words"] == 18 / 26
    assert found["longest_text"] == 12 and found["mean_length"] == 26 / 3
    assert (found["min"], found["max"]) == (-5.0, 6000.0)
    assert found["median"] == statistics.median(values)
    assert found["mean"] == pytest.approx(statistics.mean(values))
    assert found["texts_with_numerals"] == found["texts_with_several"] == 2 / 3
    assert found["share_negative"] == 1 / 8 and found["share_integers"] == 7 / 8
    assert found["share_percent"] == 1 / 8 and found["share_comma"] == 2 / 8
    assert found["decimals"] == {0: 7, 1: 1}
    assert found["zeros"] == 1 and found["magnitudes"] == {-2: 1, 0: 2, 3: 4}
    assert found["most_frequent"]["6000"] == 2 and "7" in found["most_frequent"]
    assert found["kinds"]["percent"] == 1 and found["kinds"]["year"] == 1
    assert found["approximate"] == []
    assert found["oov"] == {"1000": {"tokens": 0, "numerals": 0}, "5000": {"tokens": 0, "numerals": 0}}


def test_out_of_vocabulary_rates() -> None:
    texts = ["a 1"] * 2 + [f"a {number}" for number in range(100, 2099)]
    found = stats(texts, "plain", cap=10_000)
    # The 1,000 types are "a", "1" and 998 of the 1,999 that occur once.
    assert found["oov"]["1000"] == {"tokens": 1001 / 4002, "numerals": 1001 / 2001}
    assert found["oov"]["5000"] == {"tokens": 0, "numerals": 0}


def test_beyond_the_cap_figures_are_marked() -> None:
    found = stats([f"a {number}" for number in range(1000)], "plain", cap=100)
    assert set(found["approximate"]) == {"oov", "token_types", "most_frequent", "numeral_types", "median"}
    assert found["numerals"] == 1000 and found["max"] == 999.0
    assert 250 < found["median"] < 750


@pytest.mark.parametrize("texts", [[], ["", " "], ["words only"], ["1e999 is too much"], ["-1e308 1e308 1e308"]])
def test_odd_corpora_give_valid_json(texts: list[str]) -> None:
    json.dumps(stats(texts), allow_nan=False)


def test_counts_are_low_by_at_most_the_floor() -> None:
    counts = TypeCounts(cap=10)
    for number in range(500):
        counts.update(["often", str(number)])
    [(word, count)] = counts.top(1)
    assert word == "often" and 500 - counts.floor <= count <= 500
    assert 0 < counts.floor <= 1000 / 10


def test_the_sample_of_values_is_the_same_every_time() -> None:
    one, other = Quantiles(50), Quantiles(50)
    for number in range(5000):
        one.add(float(number))
        other.add(float(number))
    assert one.median == other.median and not one.exact
    assert one.mean == pytest.approx(2499.5)


def test_table_has_a_column_for_each_file(tmp_path: Path) -> None:
    for name, texts in {"a.txt": TEXTS, "b.txt": ["only [red]words"]}.items():
        (tmp_path / name).write_text("\n".join(texts))
    results = [stats_of_file(str(tmp_path / name)) for name in ("a.txt", "b.txt")]
    table = stats_table(results)
    assert len(table.columns) == 3 and table.row_count > 30
