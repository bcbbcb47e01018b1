"""Sentences with one annotated number: file layouts, splits, errors and filters."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from numerate.reading import make_reader
from numerate.training.sources import SourceError
from numerate_lab.tasks.masked_prediction.number_sentences import (
    AnnotatedReader,
    NumberSentence,
    plain_sentences,
    read_number_sentences,
    sentence_of_row,
)
from numerate_lab.tasks.next_numeral.corpora import drawn_split

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"id": 7, "comment": "The dam is 1,250 m long.", "offset": 11, "length": 5, "number": "1250", "unit": "m"},
    {"id": 8, "comment": "It rose 2.5 pct in 1986.", "offset": 8, "length": 3, "number": "2.5", "unit": ""},
]


def as_lines(path: Path) -> None:
    path.write_text("\n".join(map(json.dumps, ROWS)), "utf-8")


def as_packed_lines(path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, ROWS)))


def as_array(path: Path) -> None:
    path.write_text(json.dumps(ROWS, indent=1), "utf-8")


def as_csv(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(ROWS)


LAYOUTS = {"jsonl": as_lines, "jsonl.gz": as_packed_lines, "json": as_array, "csv": as_csv}


def test_every_layout_gives_the_same_sentences(tmp_path: Path) -> None:
    for ending, write in LAYOUTS.items():
        folder = tmp_path / ending
        folder.mkdir()
        file = folder / f"dev.{ending}"
        write(file)
        divided = [sentence for split in ("train", "dev", "test") for sentence in read_number_sentences(file, split)]
        for found in (read_number_sentences(folder, "dev"), sorted(divided, key=lambda sentence: sentence.id)):
            one, two = found
            assert (one.id, one.unit, one.numeral.value, one.numeral.text) == ("7", "m", 1250.0, "1,250"), ending
            assert (two.id, two.unit, two.numeral.value, two.numeral.start) == ("8", None, 2.5, 8), ending


def test_titles_and_story_indices_of_numeracy_600k() -> None:
    row = {"title": "Oil at 61", "offset": 7, "length": 2, "number": 61, "magnitude": 2, "UNIQUE_STORY_INDEX": "n1"}
    sentence = sentence_of_row(row)
    assert (sentence.id, sentence.numeral.value) == ("n1", 61.0)


def test_offsets_off_by_one_are_corrected() -> None:
    for offset in (10, 11, 12):
        sentence = sentence_of_row(ROWS[0] | {"offset": offset})
        assert (sentence.numeral.start, sentence.numeral.text) == (11, "1,250")


def test_errors_name_file_line_and_field(tmp_path: Path) -> None:
    changes: list[tuple[dict[str, Any], str]] = [
        ({"offset": None}, "field 'offset' must be a whole number, got None"),
        ({"offset": 1.5}, "field 'offset' must be a whole number, got 1.5"),
        ({"offset": 22}, "field 'offset': 22 + 5 is not within a text of 24"),
        ({"offset": 0}, "field 'offset': 'The d' is not a number"),
        ({"number": "many"}, "field 'number' must be a number, got 'many'"),
        ({"comment": 5}, "field 'comment' must be text, got '5'"),
    ]
    for change, message in changes:
        file = tmp_path / "train.jsonl"
        file.write_text("\n".join(map(json.dumps, [ROWS[0], ROWS[0] | change])), "utf-8")
        with pytest.raises(SourceError) as caught:
            list(read_number_sentences(tmp_path))
        assert str(caught.value) == f"{file}:2: {message}"
    for field in ("offset", "length"):
        other = tmp_path / "train.json"
        other.write_text(json.dumps([{key: value for key, value in ROWS[0].items() if key != field}]), "utf-8")
        with pytest.raises(SourceError, match=rf"train.json, entry 1: field '{field}' is missing; it has 'id'"):
            list(read_number_sentences(other, drawn_split(ROWS[0]["comment"])))


def test_rows_without_a_number_are_read_at_the_offset() -> None:
    for text, offset, length, value in (
        ("Up 1,250.5 pct", 3, 7, 1250.5), ("Oil at 61", 7, 2, 61.0), ("3000m away", 0, 4, 3000.0), ("by .5", 3, 2, 0.5)
    ):  # fmt: skip
        for given in ({}, {"number": None}, {"number": ""}):
            sentence = sentence_of_row({"comment": text, "offset": offset, "length": length} | given)
            numeral = sentence.numeral
            assert (numeral.value, numeral.start, numeral.end) == (value, offset, offset + length)
    for offset, length, part in ((7, 2, "12"), (8, 3, "25 "), (7, 9, "125 of 30"), (6, 2, " 1")):
        row = {"comment": "It had 125 of 30 mice", "offset": offset, "length": length}
        with pytest.raises(SourceError) as caught:
            sentence_of_row(row, "my.jsonl:3")
        message = f"field 'offset': {part!r} is not one whole number; give the field 'number'"
        assert str(caught.value) == f"my.jsonl:3: {message}"


def test_one_file_is_divided_into_disjoint_splits(tmp_path: Path) -> None:
    # Each text occurs twice, with different annotated numbers, as in Numeracy-600K.
    texts = [f"Ship {index} is 25 m long." for index in range(300)]
    places = [(text, offset) for text in texts for offset in (5, text.index("25 m"))]
    rows = [{"comment": text, "offset": at, "length": len(text[at:].split()[0])} for text, at in places]
    file = tmp_path / "one.json"
    file.write_text(json.dumps(rows), "utf-8")
    splits = {split: list(read_number_sentences(file, split)) for split in ("train", "dev", "test")}
    assert sum(map(len, splits.values())) == 600
    assert [{"train": 0.7, "dev": 0.1, "test": 0.2}[name] for name in splits] == pytest.approx(
        [len(found) / 600 for found in splits.values()], abs=0.05
    )
    for name, found in splits.items():
        assert {sentence.text for sentence in found} == {text for text in texts if drawn_split(text) == name}
        assert len(found) == 2 * len({sentence.text for sentence in found})
    assert len({sentence.id for found in splits.values() for sentence in found}) == 600
    assert list(read_number_sentences(file, "dev", most=7)) == splits["dev"][:7]


def test_rows_of_one_file_may_name_their_split(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"

    def write(*splits: Any) -> None:
        own = [{} if split is None else {"split": split} for split in splits]
        rows = [ROWS[index % 2] | {"id": index} | split for index, split in enumerate(own)]
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")

    write("train", "validation", "train", "test")
    assert [[s.id for s in read_number_sentences(file, split)] for split in ("train", "dev", "test")] == [
        ["0", "2"],
        ["1"],
        ["3"],
    ]
    for bad in ("tset", None, ["test"]):
        write("train", bad)
        with pytest.raises(SourceError) as caught:
            list(read_number_sentences(file))
        wanted = "expected one of train, dev, test in all rows, or none in any"
        assert str(caught.value) == f"{file}:2: field 'split' is {bad!r}, {wanted}"


def test_a_folder_without_the_split_and_an_unknown_split(tmp_path: Path) -> None:
    as_lines(tmp_path / "train.jsonl")
    with pytest.raises(SourceError, match=r"a folder without dev\.jsonl"):
        list(read_number_sentences(tmp_path, "dev"))
    with pytest.raises(SourceError, match="split must be one of train, dev, test, got split='tset'"):
        list(read_number_sentences(tmp_path, "tset"))


def test_hub_names_are_read_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rows(path: str, split: str) -> Any:
        asked.append((path, split))
        return iter([(f"{path}, {split} row 0", ROWS[0]), (f"{path}, {split} row 1", {"comment": "x"})])

    monkeypatch.setattr("numerate.training.sources._hub_rows", rows)
    found = read_number_sentences("usc-isi/WikiConvert", "dev")
    assert next(found).numeral.value == 1250.0 and asked == [("usc-isi/WikiConvert", "dev")]
    with pytest.raises(SourceError, match="usc-isi/WikiConvert, dev row 1: field 'offset' is missing"):
        next(found)


def test_filters_of_the_papers(tmp_path: Path) -> None:
    as_lines(tmp_path / "train.jsonl")
    assert [s.id for s in read_number_sentences(tmp_path, most=1)] == ["7"]
    assert [s.id for s in read_number_sentences(tmp_path, values=(1e-4, 100))] == ["8"]
    assert [s.id for s in read_number_sentences(tmp_path, lengths=(15, 24))] == []
    assert len(list(read_number_sentences(tmp_path, lengths=(15, 25)))) == 2


def test_scaled_numbers_keep_their_style() -> None:
    long, rose = map(sentence_of_row, ROWS)
    assert long.scaled(1000).text == "The dam is 1,250,000 m long." and long.scaled(1000).numeral.value == 1.25e6
    assert rose.scaled(10).text == "It rose 25.0 pct in 1986."
    assert NumberSentence("x", "none").scaled(10).text == "none"


def test_reader_of_annotated_and_other_numbers() -> None:
    sentence = sentence_of_row(ROWS[1])
    assert [n.text for n in AnnotatedReader([sentence]).find(sentence.text)] == ["2.5"]
    assert [n.text for n in AnnotatedReader([sentence], make_reader("standard")).find(sentence.text)] == ["2.5", "1986"]
    assert AnnotatedReader([sentence]).find("Another 5.") == []


def test_texts_without_numbers() -> None:
    texts = ["It rains.", "It rains 5 days.", "Half of 1/2", "It snows."]
    assert [(s.text, s.numeral) for s in plain_sentences(texts)] == [("It rains.", None), ("It snows.", None)]


@pytest.mark.shared("data/units", "data/market")
def test_shared_sets(shared: Path) -> None:
    for name, count in (("units", 4102), ("market", 1351)):
        sentences = list(read_number_sentences(shared / "data" / name, "dev"))
        assert len(sentences) == count
        assert all(s.text[s.numeral.start : s.numeral.end] == s.numeral.text for s in sentences)
        assert all((s.unit is not None) == (name == "units") for s in sentences)
