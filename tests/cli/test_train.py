"""`numerate train`, from the command line to a model that loads again."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from known_distributions import known_texts
from typer.testing import CliRunner

import numerate
from numerate.cli.app import app
from numerate.cli.run_commands import train
from numerate.errors import BadInput
from numerate.records import RecordModel
from numerate.training.checkpoints import CheckpointError
from numerate.training.output_folder import LOCK_FILE, OutputFolderError
from numerate.training.run import RunError

if TYPE_CHECKING:
    from pathlib import Path

CPU = ["training.use_cpu=true"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("texts")
    for split, count in (("train", 60), ("dev", 10)):
        rows = [json.dumps({"text": text.text}) for text in known_texts(split, count)]
        (folder / f"{split}.jsonl").write_text("\n".join(rows))
    return {"data": str(folder / "train.jsonl"), "dev": str(folder / "dev.jsonl")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, data: dict[str, str]) -> tuple[Path, dict[str, Any], list[str]]:
    folder = tmp_path_factory.mktemp("out") / "luna"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        metrics = train("luna", output_dir=str(folder), **data, scale="tiny", changes=CPU)
    return folder, metrics, said.getvalue().splitlines()


def test_the_model_loads_again(trained: tuple[Path, dict[str, Any], list[str]]) -> None:
    folder, metrics, lines = trained
    assert lines[0].startswith("60 texts, ") and lines[-1] == str(folder)
    model = numerate.from_pretrained(folder)
    assert math.isfinite(float(model.predict("the castle dates from [NUM]").median()[0]))
    written = json.loads((folder / "run.json").read_text())
    assert written["config"]["seed"] == 42 and written["config"]["run"] == "luna"
    assert written["config"]["resolved"]["model"]["embedder"]["size"] == "0.1M", "the scale is in it"
    assert written["figures"]["metrics"]["eval_loss"] == metrics["eval_loss"]
    assert written["figures"]["steps"] == 6 and written["figures"]["data"]["train"]["rows"] == 60
    assert written["machine"]["packages"]["torch"] and "commit" in written["machine"]


def test_texts_without_numbers_are_told_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": "no number at all"}\n' * 8)
    changes = [*CPU, "training.max_steps=1"]
    train("luna", data=str(tmp_path / "texts.jsonl"), output_dir=str(tmp_path / "out"), scale="tiny", changes=changes)
    said = capsys.readouterr()
    assert "no number found in the training texts; is data.text the right field?" in said.out
    subwords = {"data": str(tmp_path / "texts.jsonl"), "output_dir": str(tmp_path / "b"), "scale": "tiny"}
    train("masked-lm", **subwords, changes=changes)
    assert "no number found" not in capsys.readouterr().out, "subwords: it never counts any"
    assert re.search(r"^step 1/1  mean loss \d", said.err, re.MULTILINE), "also where logging_steps is not reached"


def test_a_run_is_not_overwritten(trained: tuple[Path, dict[str, Any], list[str]], data: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="already contains a run; use --resume, or give another --output-dir"):
        train("luna", output_dir=str(trained[0]), **data, scale="tiny", changes=CPU)


def test_resuming_gives_the_same_weights(
    tmp_path: Path, data: dict[str, str], trained: tuple[Path, dict[str, Any], list[str]]
) -> None:
    from training_runs import Interrupt

    from numerate.training.build import build
    from numerate.training.run import load_run

    run = load_run("luna", scale="tiny", changes=CPU).with_data(train=data["data"], dev=data["dev"])
    trainer = build(run, tmp_path)
    trainer.add_callback(Interrupt(4))
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    train("luna", output_dir=str(tmp_path), **data, scale="tiny", changes=CPU, resume=True)
    one, two = (numerate.from_pretrained(folder).state_dict() for folder in (trained[0], tmp_path))
    for state in (one, two):
        del state["number_config"]  # it names the folder that the model was loaded from
    assert one.keys() == two.keys() and all(torch.equal(value, two[key]) for key, value in one.items())


def test_resuming_without_a_checkpoint(tmp_path: Path, data: dict[str, str]) -> None:
    with pytest.raises(CheckpointError, match="no complete checkpoint"):
        train("exponent", output_dir=str(tmp_path), **data, scale="tiny", changes=CPU, resume=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "lunna"], "unknown run 'lunna': did you mean 'luna'"),
        (["train", "luna", "--data", "no.jsonl"], "no.jsonl: no such file"),
        (["train", "luna", "model.recip=x"], "unknown key 'recip': did you mean 'recipe'"),
        (["prepare", "luna", "--scale", "huge"], "unknown scale 'huge'"),
        (["eval", "no-such-folder"], "no texts to measure"),
        (["eval", "nothing/here", "--data", "x.txt"], "nothing/here"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2 and done.stderr.startswith("numerate: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


def test_python_m_numerate() -> None:
    done = subprocess.run([sys.executable, "-m", "numerate", "--help"], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in ("prepare", "train", "eval", "numerate [OPTIONS]"))


def test_wide_and_long_records_are_trained_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What used to fail after the last step: 30 number columns, records of more than 1,024 tokens, no git."""
    monkeypatch.setenv("PATH", "/nowhere")
    rows = [
        {f"column{k}": k * row + 0.5 for k in range(30)} | {"list": [float(row)] * (1200 if row % 3 == 0 else 2)}
        for row in range(30)
    ]
    file, folder = tmp_path / "wide.jsonl", tmp_path / "out"
    file.write_text("\n".join(map(json.dumps, rows)))
    changes = [*CPU, "training.max_steps=1", "training.per_device_train_batch_size=1"]
    train("records", output_dir=str(folder), data=str(file), scale="tiny", changes=changes)
    written = json.loads((folder / "run.json").read_text())
    assert written["machine"]["commit"] is None
    model = RecordModel.load(folder)
    assert model.predict(rows[1:3], "column29").shape == (2, 3)
    held = len(rows) - written["figures"]["data"]["train"]["rows"]
    assert 0 < model.calibration.held_out["column29"] < held, "long records are no part of it"
    assert not (folder / LOCK_FILE).exists()


def test_what_can_be_known_is_checked_before_training(tmp_path: Path, data: dict[str, str]) -> None:
    given = {"scale": "tiny", "changes": CPU}
    with pytest.raises(OutputFolderError, match="/proc/none cannot be written to: "):
        train("luna", output_dir="/proc/none", **data, **given)
    with pytest.raises(RunError, match="training: unknown key 'max_step'"):
        train("records", output_dir=str(tmp_path / "a"), data="no.csv", changes=["training.max_step=3"])
    with pytest.raises(RunError, match="model: head: components must be at most 1048576"):
        changes = [*CPU, "model.head={kind: mixture, components: 1048577}", "training.max_steps=1"]
        train("exponent", output_dir=str(tmp_path / "b"), **data, scale="tiny", changes=changes)


def test_a_folder_in_use_is_refused(tmp_path: Path, data: dict[str, str]) -> None:
    code = "import sys, numerate.training.output_folder as o\nwith o.output_folder(sys.argv[1]): print(1), input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-uc", code, str(tmp_path)], **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == b"1\n"
        with pytest.raises(OutputFolderError, match=f"is in use by process {process.pid} on "):
            train("luna", output_dir=str(tmp_path), **data, scale="tiny", changes=CPU)
        with pytest.raises(OutputFolderError, match=f"is in use by process {process.pid} on "):
            train("luna", output_dir=str(tmp_path), **data, scale="tiny", changes=CPU, resume=True)
        process.communicate(b"\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_two_processes(tmp_path: Path, data: dict[str, str]) -> None:
    """`torchrun -m numerate train` on two processes: one of them writes and prints."""
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "numerate"),
        *("train", "luna", "--scale", "tiny", "--data", data["data"], "--dev", data["dev"], *CPU),
        *("--output-dir", str(tmp_path / "o")),
    ]
    # accelerate's barriers name a GPU for each process, also on the CPU, where a GPU is visible.
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("parameters are trained") == 1, "only the main process prints"
    written = json.loads((tmp_path / "o" / "run.json").read_text())
    assert written["figures"]["processes"] == 2 and written["figures"]["steps"] == 6
    numerate.from_pretrained(tmp_path / "o")


def test_tensorboard(tmp_path: Path, data: dict[str, str]) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-not-found]
        EventAccumulator,
    )

    changes = [*CPU, "training.report_to=tensorboard"]
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(tmp_path / "board")
    try:
        train("float", output_dir=str(tmp_path / "o"), **data, scale="tiny", changes=changes)
    finally:
        del os.environ["TENSORBOARD_LOGGING_DIR"]
    events = EventAccumulator(str(next((tmp_path / "board").rglob("events*")).parent))
    events.Reload()
    assert {"train/loss", "train/tokens_per_second", "eval/loss"} <= set(events.Tags()["scalars"])
