"""`numerate prepare`: texts encoded once, and trained on from the folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from numerate.cli.evaluate import evaluate
from numerate.cli.prepare import prepare
from numerate.cli.train import train
from numerate.errors import BadInput
from numerate.training.run import RunError
from numerate.training.shards import Shards, ShardsError
from numerate_lab.tasks.synthetic.known_distributions import known_texts

if TYPE_CHECKING:
    from pathlib import Path

CPU = ("training.use_cpu=true",)


def silent(line: str) -> None:
    del line


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("texts")
    for split, count in (("train", 60), ("dev", 10)):
        (folder / f"{split}.txt").write_text("\n".join(text.text for text in known_texts(split, count)))
    return {"data": str(folder / "train.txt"), "dev": str(folder / "dev.txt")}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("prepared") / "luna"
    lines: list[str] = []
    prepare("luna", str(folder), **texts, scale="tiny", say=lines.append)
    return folder, lines


def test_written_files(prepared: tuple[Path, list[str]], texts: dict[str, str]) -> None:
    folder, lines = prepared
    assert lines[0].startswith(f"{folder / 'train'}: 60 texts, ") and lines[1].startswith(f"{folder / 'dev'}: 10 texts")
    assert "60 numbers, 1 shards" in lines[0]
    assert len(Shards(folder / "train", verify=True)) == 60
    stamp = (folder / "train" / "meta.json").stat().st_mtime_ns
    prepare("luna", str(folder), **texts, scale="tiny", say=silent)
    assert (folder / "train" / "meta.json").stat().st_mtime_ns == stamp, "existing shards are used again"


def test_trained_from_the_folder_as_from_the_texts(
    prepared: tuple[Path, list[str]], texts: dict[str, str], tmp_path: Path
) -> None:
    one = train("luna", str(tmp_path / "a"), data=str(prepared[0]), scale="tiny", changes=CPU, say=silent)
    two = train("luna", str(tmp_path / "b"), **texts, scale="tiny", changes=CPU, say=silent)
    assert one["train_loss"] == two["train_loss"] and one["eval_loss"] == two["eval_loss"]
    assert not (tmp_path / "a" / "prepared").exists()
    assert np.array_equal(Shards(prepared[0] / "dev").lengths, Shards(tmp_path / "b" / "prepared" / "dev").lengths)


def test_evaluated_from_the_folder(prepared: tuple[Path, list[str]], texts: dict[str, str], tmp_path: Path) -> None:
    train("luna", str(tmp_path / "o"), data=str(prepared[0]), scale="tiny", changes=CPU, say=silent)
    one, two = (evaluate(str(tmp_path / "o"), data) for data in (str(prepared[0]), texts["dev"]))
    assert one["texts"] == 10 and one["loss"] == two["loss"]


def test_another_processor_is_refused(prepared: tuple[Path, list[str]], tmp_path: Path) -> None:
    with pytest.raises(ShardsError, match="encoded by another processor"):
        train("float", str(tmp_path / "o"), data=str(prepared[0]), scale="tiny", changes=CPU, say=silent)
    with pytest.raises(ShardsError):
        Shards(prepared[0])


def test_bad_input(prepared: tuple[Path, list[str]], texts: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is already prepared"):
        prepare("luna", str(tmp_path / "p"), data=str(prepared[0]), scale="tiny", say=silent)
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(BadInput, match="contains other files"):
        prepare("luna", str(tmp_path), **texts, scale="tiny", say=silent)
    with pytest.raises(RunError, match="training texts: give --data"):
        prepare("luna", str(tmp_path / "p"), scale="tiny", say=silent)


def test_texts_without_numbers_give_a_hint(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": f"no {'number ' * i}"}) for i in range(1, 5)))
    lines: list[str] = []
    prepare("luna", str(tmp_path / "p"), data=str(tmp_path / "a.jsonl"), scale="tiny", say=lines.append)
    assert "no number found; is data.text the right field?" in lines[-1]
