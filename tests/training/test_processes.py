"""Two processes on the CPU: same training as one process, common decisions, common checkpoints.

A job costs seconds of imports, so the one job of the default suite checks several things. Processes are launched, not
forked: a forked child of a process with threads may wait for one of them forever.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
import two_process_runs as together

import numerate
from numerate.training import newest_whole

HERE = Path(__file__).parent
TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2")
# accelerate uses MPI for several CPU processes; its launcher for GPUs also works without GPUs.
ACCELERATE = (
    "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
    "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0",
)  # fmt: skip


def launch(launcher: tuple[str, ...], *command: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Runs a script in two processes, with a timeout in case they hang."""
    more = {
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "ACCELERATE_USE_CPU": "1",
        # accelerate's barriers name a GPU for each process, also on the CPU, where a GPU is visible.
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.run(
        [sys.executable, "-m", *launcher, *map(str, command)],
        env=os.environ | more, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def both(
    folder: Path, work: str, script: Path = HERE.parent / "two_process_runs.py", launcher: tuple[str, ...] = TORCHRUN
) -> list[Any]:
    """The output of the two processes of a job."""
    done = launch(launcher, script, *([work] if work else []), folder)
    assert done.returncode == 0, done.stderr[-5000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    (tmp_path / "alone").mkdir()
    return tmp_path / "alone"


def as_one(folder: Path, alone: Path, losses: dict[str, list[float]], cases: dict[str, Any]) -> None:
    """Asserts that two processes have the losses and weights of one process with one batch per step."""
    expected = together.runs(alone, cases)
    assert expected.keys() == losses.keys()
    for name, found in expected.items():
        assert len(found) == cases[name][1] and len(set(found)) == len(found)
        assert losses[name] == pytest.approx(found, rel=1e-5), name
        one, two = (safetensors.torch.load_file(place / f"{name}.safetensors") for place in (alone, folder))
        torch.testing.assert_close(two, one, rtol=1e-5, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}")


def each_once(alone: Path, found: dict[str, Any], cases: Any, steps: dict[str, int]) -> None:
    """Asserts that training ended, and that evaluation measured every text once."""
    expected = together.uneven(alone, cases)
    assert {name: figures["steps"] for name, figures in found.items() if "steps" in figures} == steps
    assert found.keys() == expected.keys() and sum(figures.get("numbers", 0) for figures in found.values()) > 9
    for name, figures in expected.items():
        assert found[name] == pytest.approx(figures, rel=1e-6), name


def test_two_processes_train_as_one(tmp_path: Path, alone: Path) -> None:
    first, second = both(tmp_path, "equal")
    assert first == second, "both log the losses of all texts"
    as_one(tmp_path, alone, first["losses"], together.EQUAL)
    each_once(alone, first["uneven"], together.UNEVEN, {"roberta 5": 2})


@pytest.mark.slow
def test_two_processes_train_as_one_with_every_objective(tmp_path: Path, alone: Path) -> None:
    first, second = both(tmp_path, "more")
    assert first == second
    as_one(tmp_path, alone, first["losses"], together.MORE)
    each_once(alone, first["uneven"], together.MORE_UNEVEN, {"roberta 11": 4, "roberta 1": 2, "gpt2 9": 4})


@pytest.mark.slow
def test_sharded_training_equals_one_process(tmp_path: Path, alone: Path) -> None:
    first, second = both(tmp_path, "sharded")
    whole = together.trainer_of(alone, together.model_of("roberta"), max_steps=5)
    whole.train()
    losses = together.losses_of(whole)
    figures = whole.evaluate()
    for kind in ("FULL_STATE_DICT", "SHARDED_STATE_DICT"):
        found = first[kind]
        assert set(found["is_sharded"]) == {"DTensor"}
        assert found["losses"] == second[kind]["losses"] == pytest.approx(losses, rel=1e-5)
        assert found["resumed"] == found["losses"] and found["same"] and second[kind]["same"]
        assert found["numbers"] == pytest.approx([figures["eval_numbers"], figures["eval_log_mae"]], rel=1e-5)
        assert newest_whole(tmp_path / kind) == tmp_path / kind / "checkpoint-5"
        saved = numerate.from_pretrained(tmp_path / f"final-{kind}")
        one, two = saved.state_dict(), whole.model.state_dict()
        for state in (one, two):
            del state["number_config"]  # it names the folder that the model was loaded from
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_killed_process_ends_all_and_the_run_resumes(tmp_path: Path) -> None:
    # The launcher notices within about a second; without it, the other process would wait for half an hour.
    done = launch(TORCHRUN, HERE.parent / "two_process_runs.py", "killed", tmp_path)
    assert done.returncode not in (0, None) and "SIGKILL" in done.stderr
    assert not list(tmp_path.glob("*.json"))
    assert newest_whole(tmp_path / "killed") == tmp_path / "killed" / "checkpoint-4"
    for found in both(tmp_path, "resumed", launcher=ACCELERATE):
        assert found["first"] == 4
        assert found["states"][0] == found["states"][1]
        assert found["losses"][0] == found["losses"][1]


@pytest.mark.slow
def test_the_command_with_accelerate(tmp_path: Path) -> None:
    """`accelerate launch -m numerate train`; with torchrun, see the command's own tests."""
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in together.mixed(41)))
    done = launch(
        ACCELERATE, "-m", "numerate", "train", "luna", "--scale", "tiny", "--data", texts, "--dev", texts,
        "training.use_cpu=true", "--output-dir", tmp_path / "o",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    assert done.stdout.count("parameters are trained") == 1, "only the main process prints"
    assert json.loads((tmp_path / "o" / "run.json").read_text())["figures"]["processes"] == 2
    numerate.from_pretrained(tmp_path / "o")


@pytest.mark.slow
def test_both_processes_skip_the_bad_step_of_one(tmp_path: Path) -> None:
    first, second = both(tmp_path, "", HERE / "one_of_two.py")
    for name in ("plain", "poisoned", "resumed"):
        assert first[name]["weights"] == second[name]["weights"], f"{name}: the processes keep the same weights"
        assert first[name]["found"] == second[name]["found"]
    assert first["plain"]["found"] == [] and first["poisoned"]["found"] == [[2, 1, 2]]
    before, at, after, *_ = first["poisoned"]["weights"]
    assert at == after != before, "both skipped the step"
    assert first["resumed"]["weights"][-1] == first["plain"]["weights"][-1]
    assert first["resumed"]["losses"] == first["plain"]["losses"] and first["resumed"]["eval"] == first["plain"]["eval"]
    for name in ("plain", "poisoned", "stopped"):
        assert newest_whole(tmp_path / name) == tmp_path / name / "checkpoint-6"
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["checkpoint-4", "checkpoint-6"]
        states = {path.name for path in (tmp_path / name / "checkpoint-6").glob("rng_state*")}
        assert states == {"rng_state_0.pth", "rng_state_1.pth"}
