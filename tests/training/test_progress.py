"""Progress output of a training."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from training_runs import arguments, model_of, rows_of

from numerate.training.build import Prepared, build_trainer
from numerate.training.progress import Lines, Progress

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def trainer_of(folder: Path, **options: Any) -> Any:
    model = model_of()
    rows: Any = rows_of(model)
    settings = arguments(folder, max_steps=4, logging_steps=2, eval_strategy="steps", eval_steps=4, **options)
    return build_trainer(Prepared(None, model, {"train": rows, "dev": rows}), settings)  # type: ignore[arg-type]


def test_the_bar_has_loss_throughput_and_number_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = trainer_of(tmp_path, disable_tqdm=False)
    bar = next(callback for callback in trainer.callback_handler.callbacks if isinstance(callback, Progress))
    trainer.train()
    assert {"loss", "texts/s", "tokens/s", "dev loss", "log MAE", "in 90 %"} <= bar.figures.keys()
    shown = capsys.readouterr()
    assert "4/4" in shown.err and f"loss={bar.figures['loss']}" in shown.err and shown.out == ""
    assert "step 4/4  dev loss" in shown.err, "an evaluation leaves a line"


def test_lines_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = trainer_of(tmp_path, disable_tqdm=True)
    trainer.train()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["step 2/4", "step 4/4", "step 4/4", "step 4/4"]
    assert lines[0].split("  ")[1].startswith("loss ") and "log MAE" in lines[2]
    assert lines[3].split("  ")[1].startswith("mean loss "), "also of a run shorter than logging_steps"


def test_only_the_main_process_prints(capsys: pytest.CaptureFixture[str]) -> None:
    state = SimpleNamespace(is_world_process_zero=False, global_step=1, max_steps=2)
    for callback in (Lines(), Progress()):
        callback.on_log(None, state, None, logs={"loss": 1.0})
    assert capsys.readouterr().err == ""
