"""`numerate extract wiki-convert`: from a dump to three splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.errors import BadInput
from numerate_lab.commands.extract import extract_wiki_convert
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, read_number_sentences

if TYPE_CHECKING:
    from pathlib import Path


def dump(folder: Path, pages: int = 60) -> str:
    parts = []
    for index in range(pages):
        unit = "km" if index % 3 else "lb"
        text = f"The thing of page {{{{convert|{index + 2}|{unit}}}}} is there. It has {{{{cvt|9|PS}}}} or so."
        parts.append(f"<page><title>t</title><ns>0</ns><id>{index}</id><revision><text>{text}</text></revision></page>")
    path = folder / "dump.xml"
    path.write_text(f"<mediawiki>{''.join(parts)}</mediawiki>", "utf-8")
    return str(path)


def dump_of(folder: Path, language: str, text: str) -> str:
    path = folder / f"{language}.xml"
    page = f"<page><title>t</title><ns>0</ns><id>1</id><revision><text>{text}</text></revision></page>"
    path.write_text(f'<mediawiki xml:lang="{language}">{page}</mediawiki>', "utf-8")
    return str(path)


def rows_in(folder: Path) -> list[NumberSentence]:
    return [row for split in ("train", "dev", "test") for row in read_number_sentences(folder, split)]


def test_splits_by_page_with_the_most_frequent_units(tmp_path: Path) -> None:
    found = extract_wiki_convert(dump(tmp_path), str(tmp_path / "out"), most_units=2)
    assert found["pages"] == 60 and found["units"] == {"PS": 60, "kilometres": 40}
    splits = {split: list(read_number_sentences(tmp_path / "out", split)) for split in ("train", "dev", "test")}
    assert {split: len(rows) for split, rows in splits.items()} == {split: found[split] for split in splits}
    assert sum(map(len, splits.values())) == 100 and all(splits.values())
    assert len(splits["train"]) > 60
    pages = {split: {row.id.split("-")[0] for row in rows} for split, rows in splits.items()}
    assert not (pages["train"] & pages["test"]) and not (pages["train"] & pages["dev"])
    assert found["left_out"] == {"a rarer unit; see --most-units": 20} and found["sentences"] == 120
    everything = extract_wiki_convert(dump(tmp_path), str(tmp_path / "all"), most_units=0)
    assert everything["units"] == {"PS": 60, "kilometres": 40, "pounds": 20}


def test_language_of_the_dump_decides_the_notation(tmp_path: Path) -> None:
    path = dump_of(tmp_path, "es", "La torre de acero pesa {{convertir|1.200|kg|lb}}.")
    cases: list[tuple[dict[str, Any], str, float]] = [
        ({}, "La torre de acero pesa 1.200 kg.", 1200.0),
        ({"units": "name"}, "La torre de acero pesa 1.200 kilograms.", 1200.0),
        ({"decimal": "point"}, "La torre de acero pesa 1.200 kg.", 1.2),
    ]
    for index, (options, text, value) in enumerate(cases):
        extract_wiki_convert(path, str(tmp_path / f"out{index}"), **options)
        (row,) = rows_in(tmp_path / f"out{index}")
        assert row.numeral is not None and (row.text, row.numeral.value) == (text, value), options


def test_wide_characters_count_twice(tmp_path: Path) -> None:
    path = dump_of(tmp_path, "ja", "この川は{{convert|5|km|mi}}である。2001年の幅は{{convert|9|m}}だった。")
    found = extract_wiki_convert(path, str(tmp_path / "out"))
    assert [row.text for row in rows_in(tmp_path / "out")] == ["この川は5 kmである。"]
    assert found["left_out"] == {"other numbers; see --every": 1}


def test_error_of_an_empty_result_names_the_reasons(tmp_path: Path) -> None:
    text = "In 1999 it was {{convert|5|km}} long. It is {{convert|5|to|6|km}} long.\n* A list of {{convert|7|km}}"
    says = (
        r"en.xml: nothing to write of 1 article with 3 templates and 2 sentences with them: 2 sentences left out: "
        r"1 \(other numbers; see --every\), 1 \(not one plain number, such as a range or a fraction\)"
    )
    with pytest.raises(BadInput, match=says):
        extract_wiki_convert(dump_of(tmp_path, "en", text), str(tmp_path / "out"))
    with pytest.raises(BadInput, match="1 article with 1 template: all of them are in tables, boxes, lists"):
        extract_wiki_convert(dump_of(tmp_path, "en", "* A list of {{convert|7|km}}"), str(tmp_path / "out"))
    with pytest.raises(BadInput, match=r"1 \(too short or too long\)"):
        extract_wiki_convert(dump_of(tmp_path, "en", "It is {{convert|7|m}}."), str(tmp_path / "out"))


def test_counts_of_sentences_add_up(tmp_path: Path) -> None:
    text = "A {{convert|7|m}} by {{convert|8|lb}} hut. It was {{convert|6|kg}} in 1999. It is {{convert|9|m}} long."
    path = dump_of(tmp_path, "en", text)
    found = extract_wiki_convert(path, str(tmp_path / "one"))
    assert found["templates"] == 4 and found["sentences"] == 3 == sum(found["left_out"].values()) + 1
    found = extract_wiki_convert(path, str(tmp_path / "every"), every=True, most_units=1)
    assert found["units"] == {"metres": 2} and found["left_out"] == {"a rarer unit; see --most-units": 1}
    assert len(rows_in(tmp_path / "every")) == 2  # only the row in metres of the first sentence is kept


def test_bad_input(tmp_path: Path) -> None:
    path = dump(tmp_path)
    with pytest.raises(BadInput, match="not empty: give a new folder"):
        extract_wiki_convert(path, str(tmp_path))
    (tmp_path / "none.xml").write_text("<mediawiki></mediawiki>")
    with pytest.raises(BadInput, match=r"none of 0 articles has a sentence with \{\{convert\|...\}\}; see --name"):
        extract_wiki_convert(str(tmp_path / "none.xml"), str(tmp_path / "out"))
    with pytest.raises(BadInput, match="no such file"):
        extract_wiki_convert(str(tmp_path / "nowhere.xml"), str(tmp_path / "out"))
    with pytest.raises(BadInput, match="--most-units must not be negative, got -3"):
        extract_wiki_convert(path, str(tmp_path / "out"), most_units=-3)
    for name in ("", "  ", "{{convert}}"):
        with pytest.raises(BadInput, match="--name must be a template's name such as convert, got '"):
            extract_wiki_convert(path, str(tmp_path / "out"), names=(name,))
    with pytest.raises(BadInput, match="--units must be name or code, got 'names'"):
        extract_wiki_convert(path, str(tmp_path / "out"), units="names")
    with pytest.raises(BadInput, match="--decimal must be point or comma, got ','"):
        extract_wiki_convert(path, str(tmp_path / "out"), decimal=",")
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["extract", "wiki-convert", dump(tmp_path, 20), "-o", str(tmp_path / "out")])
    assert result.exit_code == 0 and '"pages": 20' in result.stdout
    assert (tmp_path / "out" / "train.jsonl.gz").is_file()
    assert result.stderr == "no sentence left out\n"
    options = ["--most-units", "1", "--units", "code", "--decimal", "comma", "-o", str(tmp_path / "one")]
    result = CliRunner().invoke(app, ["extract", "wiki-convert", dump(tmp_path, 20), *options])
    assert result.exit_code == 0 and '"units": {"PS": 20}' in result.stdout
    assert result.stderr == "20 sentences left out: 20 (a rarer unit; see --most-units)\n"
