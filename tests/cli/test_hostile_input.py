"""Bad settings, texts and values of commands: each is one line that names the value, before any work."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from transformers import TrainingArguments
from typer.testing import CliRunner

from numerate.cli import terminal
from numerate.cli.app import app
from numerate.cli.prediction_commands import Predictions, prompts_of
from numerate.cli.terminal import console, write_json
from numerate.config import ConfigError
from numerate.errors import BadInput
from numerate.files import YamlError, check_writable, read_yaml
from numerate.training.argument_checks import check_arguments
from numerate.training.run import RunError, TokenizerPlan
from numerate.training.scratch import _check_size
from numerate.training.sources import Texts, rows_of
from numerate.training.text_files import SourceError, parsed_json

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("max_steps", "abc", "max_steps must be int, got 'abc'"),
        ("max_steps", 1.5, "max_steps must be int, got 1.5"),
        ("max_steps", None, "max_steps must be int, got None"),
        ("learning_rate", ".nan", "learning_rate must be float, got '.nan'"),
        ("learning_rate", math.nan, "learning_rate must be at least 0, got nan"),
        ("learning_rate", -1.0, "learning_rate must be at least 0, got -1.0"),
        ("gradient_accumulation_steps", 0, "gradient_accumulation_steps must be at least 1, got 0"),
        ("per_device_train_batch_size", 0, "per_device_train_batch_size must be at least 1, got 0"),
        ("seed", -1, "seed must be at least 0, got -1"),
        ("adam_beta2", 7, "adam_beta2 must be between 0 and 1, got 7"),
        ("save_steps", 0, "save_steps must be positive, got 0"),
        ("num_train_epochs", math.inf, "num_train_epochs must be at least 0, got inf"),
        ("eval_seed", "abc", "eval_seed must be int, got 'abc'"),
        ("bf16", "maybe", "bf16 must be bool, got 'maybe'"),
    ],
)
def test_wrong_training_settings_are_refused(name: str, value: object, says: str) -> None:
    with pytest.raises(RunError, match=f"^training.{says.replace('.', '[.]')}$"):
        check_arguments({name: value}, TrainingArguments)


def test_right_training_settings_are_taken() -> None:
    check_arguments(
        {"max_steps": -1, "learning_rate": 1, "warmup_steps": 0, "report_to": ["none"], "lr_scheduler_type": "cosine",
         "lr_scheduler_kwargs": {"min_lr": 1e-5}, "save_total_limit": 2, "number_learning_rate": "same", "bf16": True},
        TrainingArguments,
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, -8, "abc", 1.5, True, None])
def test_wrong_sizes_of_a_model_are_refused(size: object) -> None:
    with pytest.raises(RunError, match=r"model\.scratch\.sizes\.hidden_size must be a whole number from 1, got"):
        _check_size("hidden_size", size, 768)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(RunError, match="num_hidden_layers must be at most 1,000, got 100000000"):
        _check_size("num_hidden_layers", 100_000_000, 12)
    _check_size("pad_token_id", 0, 0)
    with pytest.raises(ConfigError, match="vocabulary must be positive, got -5"):
        TokenizerPlan(vocabulary=-5)
    with pytest.raises(YamlError, match="more than 200 open brackets"):
        read_yaml("[" * 100_000, "deep.yaml")


def test_a_lone_surrogate_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "whole \\ud83d\\ude00 5"}\n{"text": "lone \\ud800"}\n')
    with pytest.raises(SourceError, match=r"texts\.jsonl:2: \\ud800 is half of a character"):
        list(Texts((str(path),)))
    path.write_text('{"\\ud800": 5}\n')
    with pytest.raises(SourceError, match=r"texts\.jsonl:1: "):
        list(rows_of(str(path)))


def test_deep_json_is_refused_with_its_line() -> None:
    for depth, opening, closing in ((900, "[", "]"), (400, '{"a": ', "}")):
        with pytest.raises(SourceError, match=r"my\.jsonl:7: nested more than 200 levels deep"):
            parsed_json(opening * depth + "1" + closing * depth, "my.jsonl:7")
    assert parsed_json("[" * 199 + "]" * 199, "here") and parsed_json("[[]]" * 0 + "[" + "[]," * 500 + "1]", "here")


def test_not_finite_values_are_null_in_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    terminal._told.clear()
    for _ in range(2):
        write_json({"loss": math.nan, "all": [1.0, -math.inf], "deep": {"x": math.inf}, "fine": 5})
    output, error = capfdbinary.readouterr()
    rows = [json.loads(line, parse_constant=lambda name: pytest.fail(name)) for line in output.splitlines()]
    assert rows == 2 * [{"loss": None, "all": [1.0, None], "deep": {"x": None}, "fine": 5}]
    assert error.decode().splitlines() == [
        "loss is nan, which JSON cannot hold: written as null",
        "all is -inf, which JSON cannot hold: written as null",
        "deep.x is inf, which JSON cannot hold: written as null",
    ]


def test_square_brackets_are_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from rich.table import Table

    table = Table("mass [kg]", title="rate [/s]")
    table.add_row("[bold]5[/bold] [/ok] :smile:")
    console().print(table, "[/]")
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("mass [kg]", "rate [/s]", "[bold]5[/bold] [/ok] :smile:", "[/]"))
    (tmp_path / "[").mkdir()
    (tmp_path / "[" / "ok].txt").write_text("5\n")
    done = CliRunner().invoke(app, ["stats", str(tmp_path / "[/ok].txt")])
    assert done.exit_code == 0 and "ok].txt" in "".join(done.stdout.split())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"samples": 10**9}, "--samples must lie between 0 and 100,000, got 1000000000"),
        ({"seed": -1}, "--seed must lie"),
    ],
)
def test_wrong_numbers_for_predict(options: dict[str, int], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Predictions("no/model", "no/file.csv", "mass", **options)  # type: ignore[arg-type]


def test_arguments_that_are_not_utf8() -> None:
    with pytest.raises(BadInput, match="the prompt is not UTF-8 at offset 2"):
        prompts_of(("a \udcff",), None)
    done = CliRunner().invoke(app, ["demo", "--seed", "-1"])
    assert done.exit_code == 2 and "--seed must lie between 0" in done.stderr


def test_output_is_found_not_writable_before_the_work(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "folder")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("5")
    for place in (tmp_path / "file", tmp_path / "file" / "below", "/proc/none"):
        with pytest.raises(OSError, match=r".*: '"):
            check_writable(place)
    done = CliRunner().invoke(app, ["demo", "--quick", "-o", str(tmp_path / "file" / "below")])
    assert done.exit_code == 2 and done.stderr.endswith("below: not a directory\n")
