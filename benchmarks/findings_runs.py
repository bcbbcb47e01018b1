"""Runs of a plan that need an accelerator, packed so that a few minutes are enough: the findings', and LUNA's.

    python benchmarks/findings_runs.py plan
    python benchmarks/findings_runs.py prepare --data DATA --model MINILM -o build/findings-data
    python benchmarks/findings_runs.py run --data build/findings-data -o OUT --minutes 9.3 --done TRIALS.zip
    python benchmarks/findings_runs.py join OUT/*.zip -o RESULTS
    python benchmarks/findings_runs.py tables --data build/findings-data -o RESULTS

`plan` lists what is run, in order of importance, and how long it is expected to take. `prepare` writes all that the
runs read into one folder and prints its size. `run` trains until its time is up: start it again (with `trials.zip` of
the last time as `--done`, if its working folder is gone) and it goes on. It writes into OUT `trials.zip`, the results
of all trials so far, and `predictions-1.zip` and so on, the predictions of this time. `join` puts such files together,
and `tables` renders them. `--scale tiny` tries the whole chain on a CPU in minutes. `--plan` names another plan than
plans/findings.yaml, such as plans/luna.yaml, whose first trainings make models that others start from: they stay in the
working folder, and come back as `starts-1.zip` and so on (give them with `--done`, too, where that folder is gone).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from plan_data import MODEL, prepare, restore, restore_all, shrink
from plan_grids import PLAN, goals_of, grids_of, luna_options, read_plan, show_plan, starts_of
from plan_starts import forget_lost, pack_starts, unpack_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "goals_of",
    "grids_of",
    "join",
    "main",
    "pack",
    "prepare",
    "read_plan",
    "restore",
    "run",
    "show_plan",
    "shrink",
]

LARGEST = 15 << 20
"""Bytes of a file of predictions."""
MOST_FILES = 4
ROOM = 60 << 20
"""Bytes of all files together."""
MOST_SHARED = 1 << 20
"""Bytes of a JSON file that trials share, if it is to come back."""
_IN_A_SHARED_FOLDER = 4
"""Parts of the name of a file in a folder that trials share: shared/GRID/FOLDER/FILE."""
PACKED = "packed.txt"
"""In the working folder: predictions that an earlier run has packed."""


def run(options: argparse.Namespace) -> None:
    """Trains until the time is up, and packs the results."""
    begin = time.time()
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")  # else each process starts one for each core
    work, output = Path(options.work), Path(options.output)
    work.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    join([file for file in options.done or () if Path(file).is_file()], work)
    restore_all(options.data)
    base = Path(options.data) / MODEL / "model.safetensors"
    unpack_starts(work, base)
    plan = read_plan(options.plan)
    starts = starts_of(plan, work, options.data, options.scale)
    for name in forget_lost(starts):
        print(f"{name}: its model is gone, and is trained again")
    served = _serve_side_by_side() if not options.alone else False
    from numerate_lab.engine.trial_pool import run_goals

    goals = goals_of(plan, options.data, options.scale, work)
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
    if starts and not options.no_starts:
        used = sum(file.stat().st_size for file in output.glob("*.zip"))
        made = [Path(folder) for folder in starts.values() if Path(folder).is_dir()]
        for name in pack_starts(made, work.resolve(), output, base, ROOM - used):
            print(f"no room for the model {name}; it stays in {work}")
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
        for each in sorted(each for each in work.rglob("*.json") if _is_result(each.relative_to(work), work)):
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


def _is_result(name: Path, work: Path) -> bool:
    """Whether a JSON file comes back among the trials: not those of models, nor large ones that all trials share.

    A folder that trials share comes back whole or not at all: with its manifest alone it would look as if it were made.
    """
    if name.parts[0] == "shared":
        return len(name.parts) < _IN_A_SHARED_FOLDER and (work / name).stat().st_size <= MOST_SHARED
    return "models" not in name.parts[1:-1]


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

    output, plan = Path(options.output), read_plan(options.plan)
    restore_all(options.data)
    starts = starts_of(plan, output, options.data, options.scale)
    for name, part in plan["parts"].items():
        if options.parts and name not in options.parts:
            continue
        grids = [grid for grid in grids_of(part, options.data, options.scale, starts) if read_results(grid, output)]
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
        elif "task" in part or part.get("compared"):
            print(*write_comparison(grids[0], output), sep="\n")
        else:
            settings = Options(output=str(output), scale=options.scale, data=options.data)
            if part["table"].startswith("luna-"):
                settings = luna_options(part, options.data, options.scale, starts, output=str(output))
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
    parser.add_argument("--done", nargs="+", help="for run: trials.zip of an earlier run, and its starts-*.zip")
    parser.add_argument("--no-starts", action="store_true", help="for run: models to start from do not come back")
    parser.add_argument("--minutes", type=float, default=9.3, help="for run: time limit, start and packing included")
    parser.add_argument("--processes", type=int, default=7, help="trainings side by side")
    parser.add_argument("--parts", nargs="+", help="for tables: parts of the plan, all by default")
    parser.add_argument("--scale", default="small", help="small, or tiny to try it")
    parser.add_argument("--alone", action="store_true", help="without NVIDIA's multi-process service")
    options = parser.parse_args(arguments)
    if options.verb == "plan":
        show_plan(read_plan(options.plan), options.processes)
    elif options.verb == "join":
        join(options.files, options.output)
    elif options.verb == "prepare":
        prepare(options, read_plan(options.plan))
    else:
        {"run": run, "tables": tables}[options.verb](options)


if __name__ == "__main__":
    sys.exit(main())
