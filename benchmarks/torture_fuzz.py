"""Fuzzed numerals, killed trainings and damaged checkpoints, for benchmarks/torture.py."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torture_run import main_of

if TYPE_CHECKING:
    from pathlib import Path

ALPHABET = [
    *"0123456789", *"0123456789", *" .,:/'-+−%$()[]{}eExX^*·×±\"\\\n\t", "½", "٣", "²", "⁻", "km", "th", "st", "rd",
    "million", "basis points", "10^", "0x", "0b", "€", "bn", "[NUM]", "NaN", "inf", "May ", "Table ", "\0", "\ud800",
    "\u202f", "𝟘", "Ⅳ",
]  # fmt: skip
STEPS = 24
VALUES = (0.0, -1.0, 1e308, -5e-324, math.inf, -math.inf, math.nan)


@dataclass
class Fuzz:
    """Counts of fuzzed texts."""

    texts: int = 0
    numerals: int = 0
    faults: list[str] = field(default_factory=list)


def fuzz(count: int, seed: int = 0) -> Fuzz:
    """Reads random texts with every reader, and checks every numeral."""
    from numerate.registry import readers

    draws, found = random.Random(seed), Fuzz()
    makers = {name: readers.create(name) for name in readers.names()}
    makers["standard, words"] = readers.create("standard", words=True, roman=True)
    for _ in range(count):
        text = "".join(draws.choices(ALPHABET, k=draws.randint(1, 24)))
        found.texts += 1
        name = draws.choice(list(makers))
        try:
            found.numerals += _check(text, makers[name].find(text))
        except Exception as error:  # any error is a fault
            found.faults.append(f"{name}, {text!a}: {type(error).__name__}: {str(error)[:80]}")
    return found


def _check(text: str, numerals: list) -> int:
    from numerate import render

    end = 0
    for n in numerals:
        if not (end <= n.start < n.end and text[n.start : n.end] == n.text):
            raise AssertionError(f"wrong span {n.start}:{n.end}")
        end = n.end
        json.dumps(n.to_dict(), allow_nan=False)
        if render(n.style, n.value) != n.text:
            raise AssertionError(f"{n.text!r} is rendered as {render(n.style, n.value)!r}")
        for value in VALUES:
            render(n.style, value)
        exact = n.exact
        if exact is not None and not n.overflow:
            near = float(exact) if abs(exact) < 10**308 else n.value
            if not math.isclose(near, n.value, rel_tol=1e-9, abs_tol=1e-300):
                raise AssertionError(f"{n.text!r} has the value {n.value} and the exact value {near}")
        _ = n.written, n.decimals, n.precision
    return len(numerals)


@dataclass
class Kills:
    """Counts of killed trainings and damaged checkpoints."""

    kills: int = 0
    equal: int = 0
    damaged: int = 0
    passed_over: int = 0
    faults: list[str] = field(default_factory=list)


def kills(folder: Path, count: int, seed: int = 0) -> Kills:
    """Kills trainings at random moments, damages the newest checkpoint of every second one, and resumes them."""
    found, draws = Kills(), random.Random(seed)
    if not count:
        return found
    start = time.monotonic()
    _train(folder, "whole")
    seconds, wanted = time.monotonic() - start, _weights(folder / "whole")
    for number in range(count):
        name = f"killed-{number}"
        process = os.fork()
        if process == 0:
            os.setpgrp()
            try:
                _train(folder, name)
            finally:
                os._exit(0)
        moment = time.monotonic() + draws.uniform(0.1, 0.9) * seconds
        while time.monotonic() < moment:
            time.sleep(0.01)
            # Every second one is killed with two checkpoints on the disk, so that the newest can be damaged.
            if number % 2 == 1:
                moment = 0 if len(list((folder / name).glob("checkpoint-*"))) >= 2 else time.monotonic() + 1
                if os.waitpid(process, os.WNOHANG)[0]:
                    process, moment = 0, 0
        if process:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        found.kills += 1
        is_damaged = number % 2 == 1 and _damage(folder / name, draws)
        found.damaged += is_damaged
        try:
            if not (folder / name / "run.json").exists():
                _train(folder, name, resume=any((folder / name).glob("checkpoint-*")))
            equal = _weights(folder / name) == wanted
        except Exception as error:  # any error is a fault
            found.faults.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            equal = False
        found.equal += equal
        found.passed_over += equal and is_damaged
        if not equal:
            found.faults.append(f"{name}: other weights")
        shutil.rmtree(folder / name, ignore_errors=True)
    return found


def _train(folder: Path, name: str, resume: bool = False) -> None:
    import torch

    torch.set_num_threads(1)
    words = [
        "train", "masked-lm", "--scale", "tiny", "--data", str(folder / "texts.jsonl"),
        "--output-dir", str(folder / name),
        "training.use_cpu=true", f"training.max_steps={STEPS}", "training.save_steps=3", "training.save_total_limit=4",
    ]  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main_of([*words, "--resume"] if resume else words)


def _weights(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in _own(folder) if path.suffix == ".safetensors"}


def _own(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if not path.relative_to(folder).parts[0].startswith(("checkpoint-", "prepared"))]


def _damage(folder: Path, draws: random.Random) -> bool:
    """Cuts, empties or removes a file of the newest checkpoint; whether there was one."""
    places = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    if len(places) < 2:
        return False
    file = draws.choice([path for path in sorted(places[-1].rglob("*")) if path.is_file()])
    how = draws.choice(["cut", "empty", "missing"])
    if how == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if how == "cut" else b"")
    return True
