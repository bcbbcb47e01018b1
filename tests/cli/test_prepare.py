"""`numerate prepare`: texts encoded once, and trained on from the folder."""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from known_distributions import known_texts

from numerate.cli.run_commands import evaluate, prepare, train
from numerate.errors import BadInput
from numerate.training.run import RunError
from numerate.training.shards import Shards, ShardsError

if TYPE_CHECKING:
    from pathlib import Path

CPU = ["training.use_cpu=true"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("texts")
    for split, count in (("train", 60), ("dev", 10)):
        (folder / f"{split}.txt").write_text("\n".join(text.text for text in known_texts(split, count)))
    return {"data": str(folder / "train.txt"), "dev": str(folder / "dev.txt")}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("prepared") / "luna"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        prepare("luna", output=str(folder), **texts, scale="tiny")
    return folder, said.getvalue().splitlines()


def test_written_files(prepared: tuple[Path, list[str]], texts: dict[str, str]) -> None:
    folder, lines = prepared
    assert lines[0].startswith(f"{folder / 'train'}: 60 texts, ") and lines[1].startswith(f"{folder / 'dev'}: 10 texts")
    assert "60 numbers, 1 shards" in lines[0]
    assert len(Shards(folder / "train", verify=True)) == 60
    stamp = (folder / "train" / "meta.json").stat().st_mtime_ns
    prepare("luna", output=str(folder), **texts, scale="tiny")
    assert (folder / "train" / "meta.json").stat().st_mtime_ns == stamp, "existing shards are used again"


def test_trained_from_the_folder_as_from_the_texts(
    prepared: tuple[Path, list[str]], texts: dict[str, str], tmp_path: Path
) -> None:
    one = train("luna", output_dir=str(tmp_path / "a"), data=str(prepared[0]), scale="tiny", changes=CPU)
    two = train("luna", output_dir=str(tmp_path / "b"), **texts, scale="tiny", changes=CPU)
    assert one["train_loss"] == two["train_loss"] and one["eval_loss"] == two["eval_loss"]
    assert not (tmp_path / "a" / "prepared").exists()
    assert np.array_equal(Shards(prepared[0] / "dev").lengths, Shards(tmp_path / "b" / "prepared" / "dev").lengths)


def test_evaluated_from_the_folder(prepared: tuple[Path, list[str]], texts: dict[str, str], tmp_path: Path) -> None:
    train("luna", output_dir=str(tmp_path / "o"), data=str(prepared[0]), scale="tiny", changes=CPU)
    one, two = (evaluate(str(tmp_path / "o"), data) for data in (str(prepared[0]), texts["dev"]))
    assert one["texts"] == 10 and one["loss"] == two["loss"]


def test_another_processor_is_refused(prepared: tuple[Path, list[str]], tmp_path: Path) -> None:
    with pytest.raises(ShardsError, match="encoded by another processor"):
        train("float", output_dir=str(tmp_path / "o"), data=str(prepared[0]), scale="tiny", changes=CPU)
    with pytest.raises(ShardsError):
        Shards(prepared[0])


def test_bad_input(prepared: tuple[Path, list[str]], texts: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is already prepared"):
        prepare("luna", output=str(tmp_path / "p"), data=str(prepared[0]), scale="tiny")
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(BadInput, match="contains other files"):
        prepare("luna", output=str(tmp_path), **texts, scale="tiny")
    with pytest.raises(RunError, match="training texts: give --data"):
        prepare("luna", output=str(tmp_path / "p"), scale="tiny")


def test_texts_without_numbers_give_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": f"no {'number ' * i}"}) for i in range(1, 5)))
    prepare("luna", output=str(tmp_path / "p"), data=str(tmp_path / "a.jsonl"), scale="tiny")
    assert "no number found; is data.text the right field?" in capsys.readouterr().out
    # A run that reads numbers as subwords never counts any.
    prepare("masked-lm", output=str(tmp_path / "q"), data=str(tmp_path / "a.jsonl"), scale="tiny")
    said = capsys.readouterr().out
    assert "no number found" not in said and " tokens, numbers as tokens, 1 shards" in said
