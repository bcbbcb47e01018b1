"""`numerate extract wiki-convert`, from a dump to three splits that the task reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.cli import app
from numerate.commands.extract import extract_wiki_convert
from numerate.commands.source import BadInput
from numerate.tasks.number_sentences import read_number_sentences

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


def test_splits_by_page_with_the_most_frequent_units(tmp_path: Path) -> None:
    found = extract_wiki_convert(dump(tmp_path), str(tmp_path / "out"), most_units=2)
    assert found["pages"] == 60 and found["units"] == {"PS": 60, "kilometres": 40}
    splits = {split: list(read_number_sentences(tmp_path / "out", split)) for split in ("train", "dev", "test")}
    assert {split: len(rows) for split, rows in splits.items()} == {split: found[split] for split in splits}
    assert sum(map(len, splits.values())) == 100 and all(splits.values())
    assert len(splits["train"]) > 60
    pages = {split: {row.id.split("-")[0] for row in rows} for split, rows in splits.items()}
    assert not (pages["train"] & pages["test"]) and not (pages["train"] & pages["dev"])
    everything = extract_wiki_convert(dump(tmp_path), str(tmp_path / "all"), most_units=0)
    assert everything["units"] == {"PS": 60, "kilometres": 40, "pounds": 20}


def test_bad_input(tmp_path: Path) -> None:
    path = dump(tmp_path)
    with pytest.raises(BadInput, match="holds something already; give a new folder"):
        extract_wiki_convert(path, str(tmp_path))
    (tmp_path / "none.xml").write_text("<mediawiki></mediawiki>")
    with pytest.raises(BadInput, match=r"none of 0 articles has a sentence with \{\{convert\|...\}\}; see --name"):
        extract_wiki_convert(str(tmp_path / "none.xml"), str(tmp_path / "out"))
    with pytest.raises(BadInput, match="no such file"):
        extract_wiki_convert(str(tmp_path / "nowhere.xml"), str(tmp_path / "out"))
    with pytest.raises(BadInput, match="--most-units must be 0 or more, however: -3"):
        extract_wiki_convert(path, str(tmp_path / "out"), most_units=-3)
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["extract", "wiki-convert", dump(tmp_path, 20), "-o", str(tmp_path / "out")])
    assert result.exit_code == 0 and '"pages": 20' in result.stdout
    assert (tmp_path / "out" / "train.jsonl.gz").is_file()
