"""`numerate reproduce`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from numerate.errors import BadInput
from numerate_lab.commands.reproduce import recompute_numerals_2018, reproduce_numerals_2018

if TYPE_CHECKING:
    from pathlib import Path


def run(folder: Path, **options: object) -> list[str]:
    lines: list[str] = []
    settings = {"corpora": (), "models": ("mog",), "scale": "tiny", "data": None, "seconds": None, "save": False}
    reproduce_numerals_2018(str(folder), **settings | options, say=lines.append)  # type: ignore[arg-type]
    return lines


def test_trains_once_and_renders(tmp_path: Path) -> None:
    first = run(tmp_path, save=True, models=("d-rnn", "mog"))
    assert [line.split(":")[0] for line in first[:2]] == ["clinical, d-rnn", "clinical, mog"]
    assert (tmp_path / "clinical" / "mog" / "number_model.safetensors").is_file()
    figures = {file.stem for file in (tmp_path / "clinical" / "figures").iterdir()}
    assert figures == {
        *("digits-cosine", "first-digits", "reliability-mog", "pit-mog"),
        *(f"number-line-{name}" for name in ("d-rnn", "mog")),
    }
    assert (tmp_path / "clinical.md").read_text().startswith("# Numerals 2018, clinical\n\n**Corpus, clinical**")
    assert run(tmp_path)[0] == "clinical, mog: there already"
    told: list[str] = []
    wanted = {"corpora": (), "models": (), "scale": "tiny", "data": None, "say": told.append}
    recompute_numerals_2018(str(tmp_path), **wanted)  # type: ignore[arg-type]
    assert told == ["clinical, d-rnn: the same", "clinical, mog: the same"]
    file = tmp_path / "clinical" / "mog.json"
    result = json.loads(file.read_text())
    result["figures"]["perplexity"]["numerals"]["app"] *= 1.01
    file.write_text(json.dumps(result))
    with pytest.raises(BadInput, match="1 of 2 do not come out again: clinical, mog"):
        recompute_numerals_2018(str(tmp_path), **wanted)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="there are no predictions"):
        recompute_numerals_2018(str(tmp_path / "no"), **wanted)  # type: ignore[arg-type]
    with pytest.raises(
        BadInput, match=r"mog\.json: was trained with .*batch=20 \(requested 128\).*give another --output"
    ):
        run(tmp_path, scale="small")


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unknown scale 'huge'"):
        run(tmp_path, scale="huge")
    with pytest.raises(BadInput, match="no such file or folder"):
        run(tmp_path, corpora=("scientific",), data=str(tmp_path))


@pytest.mark.slow
def test_several_processes_give_the_same(tmp_path: Path) -> None:
    one = run(tmp_path / "one", models=("mog", "h-softmax"))
    two = run(tmp_path / "two", models=("mog", "h-softmax"), processes=2)
    assert one[:2] == two[:2]
