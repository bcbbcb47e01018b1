"""The extension law: a new part or task is one file of one's own, and nothing else is edited."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

EMBEDDER = """
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from numerate.config import Config
from numerate.embedders.base import Embedder
from numerate.registry import embedders


@dataclass(frozen=True, kw_only=True)
class MyConfig(Config):
    kind: ClassVar[str] = "my-embedder"


@embedders.register("my-embedder")
class MyEmbedder(Embedder):
    Config = MyConfig

    def __init__(self, dim, config):
        super().__init__(dim, config)
        self.layer = nn.Linear(1, dim)

    def forward(self, numbers):
        return self.layer(numbers.values().clamp(-1e6, 1e6).nan_to_num(0.0).float()[:, None] / 1000)
"""
HEAD = """
from dataclasses import dataclass
from typing import ClassVar

from numerate.heads.scalar import ScalarConfig, ScalarHead
from numerate.registry import heads


@dataclass(frozen=True, kw_only=True)
class MyConfig(ScalarConfig):
    kind: ClassVar[str] = "my-head"


@heads.register("my-head")
class MyHead(ScalarHead):
    Config = MyConfig
"""
NOTATION = '''
from dataclasses import dataclass
from typing import ClassVar

from numerate.config import Config
from numerate.notation.base import END, Notation, Piece
from numerate.notation.decimal_form import parse_numeral
from numerate.registry import notations


@dataclass(frozen=True, kw_only=True)
class MyConfig(Config):
    kind: ClassVar[str] = "my-notation"
    slot: bool = False


@notations.register("my-notation")
class MyNotation(Notation):
    """Whole numbers as tokens d0 ... d9."""

    Config = MyConfig
    vocabulary = tuple(f"d{digit}" for digit in range(10))
    exact = False

    def write(self, numeral):
        return [Piece(f"d{digit}", slot=self.config.slot) for digit in str(int(abs(numeral.value)))]

    def read(self, pieces):
        if not pieces or any(piece not in self.vocabulary for piece in pieces):
            raise ValueError(f"no digits: {pieces}")
        return parse_numeral("".join(piece[1] for piece in pieces))

    def legal_next(self, pieces):
        return {*self.vocabulary, END}

    def tolerance(self, value):
        return 1.0
'''
READER = """
from numerate.reading.plain import PlainReader
from numerate.registry import readers


@readers.register("my-reader")
class MyReader(PlainReader):
    pass
"""
TASK = """
import numpy as np

from numerate_lab.registry import tasks
from numerate_lab.tasks.asked_number.asked_number import Truth
from numerate_lab.tasks.asked_number.asked_task import AskedNumber


class Doubles:
    answer_slot = -1

    def texts(self, split, count, seed=0, start=0):
        first = {"train": 0, "dev": 500, "test": 700}[split]
        return [f"twice {number} is {2 * number}" for number in range(first, first + count)]

    def truth(self, split, count, seed=0, start=0):
        strings = [text.split()[-1] for text in self.texts(split, count)]
        return Truth(np.array([float(string) for string in strings]), strings, np.zeros(count, np.int64))


@tasks.register("mine")
class Mine(AskedNumber):
    version = 3
    reader = "my-reader"
    source = Doubles()
"""


def test_parts_and_a_task_of_ones_own_from_the_command_line(tmp_path: Path) -> None:
    """One file for each of embedder, head, notation, reader and task, and one command."""
    command = [sys.executable, "-m", "numerate_lab", "compare", "--task", "mine"]
    command += ["--encodings", "my-embedder+my-head,my-notation", "--scale", "tiny", "--seeds", "1", "--rates", "1e-2"]
    files = {"embedder": EMBEDDER, "head": HEAD, "notation": NOTATION, "reader": READER, "task": TASK}
    for name, text in files.items():
        (tmp_path / f"my_{name}.py").write_text(text, "utf-8")
        command += ["--plugin", str(tmp_path / f"my_{name}.py")]
    for option in ("examples=60", "amount=120", "batch=20", "width=16", "layers=1", "dev=10", "test=10", "looks=1"):
        command += ["--option", option]
    done = subprocess.run([*command, "-o", str(tmp_path / "out")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    folder = tmp_path / "out" / "mine"
    table = (folder / "compare.md").read_text("utf-8")
    assert "| my-embedder+my-head |" in table and "| my-notation |" in table
    trial = json.loads((folder / "my-notation-rate0.01-seed0-120.json").read_text("utf-8"))
    assert trial["config"]["task_version"] == 3 and trial["figures"]["training"]["steps"] == 6
    assert trial["figures"]["test"]["exact_match"]["count"] == 10


def test_a_plugin_that_is_missing_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "numerate_lab", "compare", "--task", "mine", "--encodings", "p10"]
    done = subprocess.run([*command, "--plugin", str(tmp_path / "no.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no such Python file" in done.stderr and "Traceback" not in done.stderr
