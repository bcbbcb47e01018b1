"""The runs behind docs/findings/claims.md that need an accelerator, packed so that a few minutes are enough.

    python benchmarks/findings_runs.py plan
    python benchmarks/findings_runs.py prepare --data DATA --model MINILM -o build/findings-data
    python benchmarks/findings_runs.py run --data build/findings-data -o OUT --minutes 9.3 --done TRIALS.zip
    python benchmarks/findings_runs.py join OUT/*.zip -o RESULTS
    python benchmarks/findings_runs.py tables --data build/findings-data -o RESULTS

`plan` lists what is run, in order of importance, and how long it is expected to take. `prepare` writes all that the
runs read into one folder and prints its size. `run` trains until its time is up: start it again (with `trials.zip` of
the last time as `--done`, if its working folder is gone) and it goes on. It writes into OUT `trials.zip`, the results
of all trials so far, and `predictions-1.zip` and so on, the predictions of this time. `join` puts such files together,
and `tables` renders them. `--scale tiny` tries the whole chain on a CPU in minutes. Plan: plans/findings.yaml.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.trial_pool import Goal

PLAN = Path(__file__).parent / "plans" / "findings.yaml"
LARGEST = 15 << 20
"""Bytes of a file of predictions."""
MOST_FILES = 4
PACKED = "packed.txt"
"""In the working folder: predictions that an earlier run has packed."""
PLAIN_TEXTS = 400
"""Texts without numbers that the table of words measures."""
FOLDERS = ("units", "scientific")
MODEL = "minilm-mlm"


def read_plan(file: str | Path = PLAN) -> dict[str, Any]:
    """The plan: `parts` and `order`."""
    from numerate.files import read_yaml

    return read_yaml(Path(file).read_text(encoding="utf-8"), str(file))


def grids_of(part: dict[str, Any], data: str | Path, scale: str) -> list[Grid]:
    """The grids of a part, with the most seeds that are ever wanted; every rate is tried as the part's table says.

    Planets and arithmetic try every rate on the whole budget, where tries and final trainings are the same.
    """
    from numerate_lab.commands.compare import grid_of
    from numerate_lab.engine.paper_tables import Options
    from numerate_lab.registry import tables

    rows, seeds = tuple(part["seconds"]), 3
    if "task" in part:
        size = part["options"] if scale != "tiny" else {}
        rates = tuple(part["rates"]) if scale != "tiny" else (1e-3, 3e-3)
        settings: dict[str, Any] = {"rates": rates, "rate_share": 1.0, "seeds": seeds}
        return [grid_of(part["task"], rows, scale=scale, options=size, **settings)]
    folder, model = str(Path(data)), str(Path(data) / MODEL)
    options = {
        "xval-table5": Options(scale=scale, models=rows, seeds=seeds),
        "numerals-heads": Options(scale=scale, models=rows, seeds=seeds, data=folder),
    }.get(part["table"])
    own = {"models": (model,), "encoders": rows, "data": folder, "corpora": ("units",)}
    options = options or Options(scale=scale, seeds=seeds, **own)
    grids = list(tables[part["table"]]().grids(part["table"], options))
    if part["table"] == "xval-table5":
        rates = grids[0].rates if scale != "tiny" else (1e-3, 3e-3)
        fields = part.get("fields", {})
        grids = [
            dataclasses.replace(grid, rate_share=1.0, rates=rates, trial=dataclasses.replace(grid.trial, **fields))
            for grid in grids
        ]
    return grids


def goals_of(plan: dict[str, Any], data: str | Path, scale: str) -> list[Goal]:
    """The plan's order as goals of the trial pool."""
    from numerate_lab.engine.trial_pool import Goal

    grids = {name: grids_of(part, data, scale) for name, part in plan["parts"].items()}
    return [
        Goal(step["part"], grid, tuple(step["rows"]), step.get("seeds", 1), plan["parts"][step["part"]]["seconds"])
        for step in plan["order"]
        for grid in grids[step["part"]]
    ]


def show_plan(plan: dict[str, Any], processes: int) -> None:
    """Prints each step's trainings, its minutes of one process, and when all steps up to it are done."""
    seen: set[tuple[Any, ...]] = set()
    total = 0.0
    shares = {"heads": 0.5}
    rates = {"words": 4}
    print(f"{'part':12} {'trainings':>9} {'minutes':>8} {'all, in parallel':>17}  rows")
    for step in plan["order"]:
        name, seconds, count = step["part"], plan["parts"][step["part"]]["seconds"], 0.0
        trainings = 0
        for row in step["rows"]:
            share = shares.get(name, 1.0)
            wanted = [(name, row, "rate", k, share) for k in range(rates.get(name, 3))]
            # A whole try is the first seed of the final training; by two choices, words may take two rates.
            first = 0 if share < 1 else 1
            wanted += [(name, row, "seed", k, 1.0) for k in range(first, step.get("seeds", 1))]
            for each in (each for each in wanted if each not in seen):
                seen.add(each)
                trainings, count = trainings + 1, count + seconds[row] * each[-1]
        total += count
        print(f"{name:12} {trainings:9} {count / 60:8.1f} {total / 60 / processes:17.1f}  {', '.join(step['rows'])}")
    print(f"{total / 60:.0f} minutes of one process, {total / 60 / processes:.1f} with {processes} side by side")


def prepare(options: argparse.Namespace) -> None:
    """Copies what the runs read, and prints sizes."""
    from numerate.training.sources import Texts
    from numerate_lab.tasks.masked_prediction.number_sentences import plain_sentences

    target, data = Path(options.output), Path(options.data)
    for folder in FOLDERS:
        shutil.copytree(data / folder, target / folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    shutil.copytree(options.model, target / MODEL, dirs_exist_ok=True, copy_function=shutil.copyfile)
    shrink(target / MODEL / "model.safetensors")
    # The same texts as the first of the whole file, which is as large as all else together.
    texts = Texts((str(data / "wiki" / "passages.jsonl.gz"),), split=("split", "test"))
    (target / "wiki").mkdir(exist_ok=True)
    with gzip.open(target / "wiki" / "passages.jsonl.gz", "wt", encoding="utf-8") as file:
        for sentence in plain_sentences(texts, PLAIN_TEXTS):
            file.write(json.dumps({"text": sentence.text, "split": "test"}, ensure_ascii=False) + "\n")
    for folder in sorted(each for each in target.iterdir() if each.is_dir()):
        print(f"{folder.name:12} {_size(folder):8.2f} MiB")
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=False, text=True).stdout.split("\0")
    tracked = sum(Path(name).stat().st_size for name in listed if name and Path(name).is_file()) / (1 << 20)
    print(f"{'all':12} {_size(target):8.2f} MiB, and {tracked:.2f} MiB of tracked files")


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


def run(options: argparse.Namespace) -> None:
    """Trains until the time is up, and packs the results."""
    begin = time.time()
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")  # else each process starts one for each core
    work, output = Path(options.work), Path(options.output)
    work.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    if options.done and Path(options.done).is_file():
        join([options.done], work)
    restore(Path(options.data) / MODEL / "model.safetensors")
    served = _serve_side_by_side() if not options.alone else False
    from numerate_lab.engine.trial_pool import run_goals

    goals = goals_of(read_plan(options.plan), options.data, options.scale)
    left = run_goals(
        goals, work, seconds=60 * options.minutes - (time.time() - begin), processes=options.processes,
        log=lambda line: print(line, flush=True),
    )  # fmt: skip
    if served:
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False)
    print(f"{len(left.no_time)} trials had no time: {', '.join(left.no_time[:40])}")
    for file, why in left.failed.items():
        print(f"failed: {file}: {why}")
    pack(work, output)
    print(f"{time.time() - begin:.0f} s in all", flush=True)


def _serve_side_by_side() -> bool:
    """Starts NVIDIA's multi-process service, without which processes take turns; whether it was started."""
    if shutil.which("nvidia-cuda-mps-control") is None:
        return False
    return subprocess.run(["nvidia-cuda-mps-control", "-d"], check=False).returncode == 0


def pack(work: Path, output: Path) -> None:
    """Writes `trials.zip`, and as `predictions-*.zip` what no earlier run has packed; what finds no place is named."""
    listed = work / PACKED
    known = set(listed.read_text("utf-8").splitlines()) if listed.is_file() else set()
    names = {str(file.relative_to(work)): file.stat().st_size for file in work.rglob("*.npz")}
    new = [name for name in names if name not in known and not name.startswith("shared")]
    with zipfile.ZipFile(output / "trials.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for each in sorted(work.rglob("*.json")):
            file.write(each, each.relative_to(work))
    parts: list[list[str]] = [[]]
    for name in sorted(new, key=names.__getitem__):
        if sum(map(names.__getitem__, parts[-1])) + names[name] > LARGEST:
            parts.append([])
        parts[-1].append(name)
    for number, some in enumerate(parts[:MOST_FILES], 1):
        with zipfile.ZipFile(output / f"predictions-{number}.zip", "w", zipfile.ZIP_STORED) as file:
            for name in some:
                file.write(work / name, name)
    whole = [name for some in parts[:MOST_FILES] for name in some]
    listed.write_text("\n".join([*sorted(known), *whole]), "utf-8")
    for name in (name for some in parts[MOST_FILES:] for name in some):
        print(f"left for the next run: {name}")


def join(files: Iterable[str | Path], output: str | Path) -> None:
    """Unpacks results into one folder; a file that is there stays."""
    target = Path(output).resolve()
    for name in files:
        with zipfile.ZipFile(name) as archive:
            for member in archive.namelist():
                place = (target / member).resolve()
                if not place.is_relative_to(target):
                    raise ValueError(f"{name}: {member!r} lies outside of the folder")
                if not place.exists():
                    archive.extract(member, target)


def tables(options: argparse.Namespace) -> None:
    """Renders the table of every part from the results that are there."""
    from numerate_lab.engine.grid import compare_with_base, finals, prepare_grid, read_results
    from numerate_lab.engine.page import write_comparison
    from numerate_lab.engine.paper_tables import Options
    from numerate_lab.registry import tables as known

    output = Path(options.output)
    restore(Path(options.data) / MODEL / "model.safetensors")
    for name, part in read_plan(options.plan)["parts"].items():
        grids = [grid for grid in grids_of(part, options.data, options.scale) if read_results(grid, output)]
        for index, grid in enumerate(grids):
            if not grid.task_class.shares_files:  # theirs come with the results, and would take minutes
                prepare_grid(grid, output / grid.name, output / "shared" / grid.name, print)
            there = [each for each in grid.encodings if finals(grid, output, each)]
            for each in (each for each in there if grid.base in there and each != grid.base):
                try:
                    compare_with_base(grid, each, output, print)
                except ValueError as error:  # predictions that were not joined
                    print(f"{each}: {error}")
            grids[index] = dataclasses.replace(grid, encodings={each: grid.encodings[each] for each in there})
        if not grids:
            print(f"{name}: no results")
        elif "task" in part or "fields" in part:
            print(*write_comparison(grids[0], output), sep="\n")
        else:
            settings = Options(output=str(output), scale=options.scale, data=options.data)
            print(*known[part["table"]]().write(part["table"], grids, settings), sep="\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("plan", "prepare", "run", "join", "tables"))
    parser.add_argument("files", nargs="*", help="for join: zip files of runs")
    parser.add_argument("--plan", default=str(PLAN), help="YAML file of parts and their order")
    parser.add_argument("--data", default="build/findings-data", help="folder of the data; for prepare its source")
    parser.add_argument("--model", help="for prepare: folder of the masked language model")
    parser.add_argument("-o", "--output", default="build/findings", help="folder to write to")
    parser.add_argument("--work", default="build/findings-work", help="for run: folder of trials, kept between runs")
    parser.add_argument("--done", help="for run: trials.zip of an earlier run")
    parser.add_argument("--minutes", type=float, default=9.3, help="for run: time limit, start and packing included")
    parser.add_argument("--processes", type=int, default=7, help="trainings side by side")
    parser.add_argument("--scale", default="small", help="small, or tiny to try it")
    parser.add_argument("--alone", action="store_true", help="without NVIDIA's multi-process service")
    options = parser.parse_args(arguments)
    if options.verb == "plan":
        show_plan(read_plan(options.plan), options.processes)
    elif options.verb == "join":
        join(options.files, options.output)
    else:
        {"prepare": prepare, "run": run, "tables": tables}[options.verb](options)


if __name__ == "__main__":
    sys.exit(main())
