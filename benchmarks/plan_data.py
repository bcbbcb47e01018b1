"""What runs on another machine read, as small files: weights in two halves, and texts recompressed.

A plan names it in `data`: folders of the data, or files in them, and `texts: true`, whose gzip files are written anew
by xz, a fifth smaller. `restore_all` makes of it what the tasks read.
"""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

MODEL = "minilm-mlm"
FOLDERS = ("units", "scientific")
PLAIN_TEXTS = 400
"""Texts without numbers that the table of words measures."""
MOST = 50.0
"""MiB that may travel beside the tracked files."""


def prepare(options: argparse.Namespace, plan: dict[str, Any]) -> None:
    """Copies what the runs of a plan read, and prints sizes."""
    target, data = Path(options.output), Path(options.data)
    if not options.model or not (Path(options.model) / "model.safetensors").is_file():
        raise SystemExit(f"--model {options.model}: give the folder of {MODEL}, with its model.safetensors")
    shutil.copytree(options.model, target / MODEL, dirs_exist_ok=True, copy_function=shutil.copyfile)
    shrink(target / MODEL / "model.safetensors")
    if "data" in plan:
        for name in plan["data"]:
            _copy(data, target, name)
    else:
        for folder in FOLDERS:
            shutil.copytree(data / folder, target / folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
        _plain_texts(data, target)
    for folder in sorted(each for each in target.iterdir() if each.is_dir()):
        print(f"{folder.name:12} {_size(folder):8.2f} MiB")
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=False, text=True).stdout.split("\0")
    tracked = sum(Path(name).stat().st_size for name in listed if name and Path(name).is_file()) / (1 << 20)
    print(f"{'all':12} {_size(target):8.2f} MiB, and {tracked:.2f} MiB of tracked files")
    if "data" in plan and _size(target) > MOST:
        raise SystemExit(f"{target}: {_size(target):.2f} MiB are more than {MOST:g}: name less in the plan's data")


def _copy(data: Path, target: Path, name: str) -> None:
    """Copies one file, recompressed if it is a gzip file."""
    if not (data / name).is_file():
        raise SystemExit(f"{data / name}: no such file; the plan's data names it")
    place = target / name
    place.parent.mkdir(parents=True, exist_ok=True)
    content = (data / name).read_bytes()
    if place.suffix == ".gz":
        place.with_suffix(".xz").write_bytes(lzma.compress(gzip.decompress(content), preset=9))
    else:
        place.write_bytes(content)


def _plain_texts(data: Path, target: Path) -> None:
    """The same texts as the first of the whole file, which is as large as all else together."""
    from numerate.training.sources import Texts
    from numerate_lab.tasks.masked_prediction.number_sentences import plain_sentences

    texts = Texts((str(data / "wiki" / "passages.jsonl.gz"),), split=("split", "test"))
    (target / "wiki").mkdir(exist_ok=True)
    with gzip.open(target / "wiki" / "passages.jsonl.gz", "wt", encoding="utf-8") as file:
        for sentence in plain_sentences(texts, PLAIN_TEXTS):
            file.write(json.dumps({"text": sentence.text, "split": "test"}, ensure_ascii=False) + "\n")


def restore_all(folder: str | Path) -> None:
    """Undoes `prepare`: the model's weights, and texts without compression."""
    restore(Path(folder) / MODEL / "model.safetensors")
    for file in sorted(Path(folder).rglob("*.xz")):
        if not file.name.endswith(".high.xz"):
            file.with_suffix("").write_bytes(lzma.decompress(file.read_bytes()))
            file.unlink()


def shrink(file: Path) -> None:
    """Replaces a file of bfloat16 weights by two smaller ones: exponents can be compressed, the other bytes cannot."""
    content = file.read_bytes()
    file.with_suffix(".low").write_bytes(content[0::2])
    file.with_suffix(".high.xz").write_bytes(lzma.compress(content[1::2], preset=1))
    file.unlink()


def restore(file: Path) -> None:
    """Undoes `shrink`."""
    low, high = file.with_suffix(".low"), file.with_suffix(".high.xz")
    if low.is_file():
        content = bytearray(2 * low.stat().st_size)
        content[0::2], odd = low.read_bytes(), lzma.decompress(high.read_bytes())
        content[1 : 2 * len(odd) : 2] = odd
        file.write_bytes(content[: low.stat().st_size + len(odd)])
        low.unlink()
        high.unlink()


def _size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / (1 << 20)
