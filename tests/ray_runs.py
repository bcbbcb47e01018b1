"""Runs the commands on a local Ray cluster and on the local engine, and compares; a worker is killed in the middle.

python tests/ray_runs.py FOLDER    writes into FOLDER and prints one JSON object of what was seen.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerate.apps.check import CheckOptions
from numerate.apps.check_engine import check_on_engine
from numerate.apps.check_reports import json_report
from numerate.cli import find_parts
from numerate.cli.find import FindJob
from numerate.cli.run_commands import prepare
from numerate.cli.stats import StatsPart, stats_of_files
from numerate.errors import BadInput
from numerate.training.engines.local import LocalEngine, engine_of

LINES = [f"Box {number} has {number * 1.75:.2f} kg and cost ${number * 37:,}. 28 km (27 mi)\n" for number in range(900)]


@dataclass(frozen=True)
class Noted:
    """Writes down which process works on a part, and waits a little."""

    work: Any
    folder: str

    def __call__(self, part: Any) -> Any:
        (Path(self.folder) / f"{os.getpid()}-{part.number}").touch()
        time.sleep(0.5)
        return self.work(part)


class Watched:
    """An engine whose workers write down what they do."""

    def __init__(self, engine: Any, folder: Path) -> None:
        self.engine, self.processes, self.folder = engine, engine.processes, folder
        folder.mkdir()

    def results(self, work: Any, parts: Any) -> Any:
        is_find = isinstance(getattr(work, "work", None), find_parts.Finished)
        yield from self.engine.results(Noted(work, str(self.folder)) if is_find else work, parts)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill_one(folder: Path, killed: list[int]) -> None:
    """Ends a worker by its id as soon as three parts have been begun."""
    while not folder.exists() or len(list(folder.iterdir())) < 3:
        time.sleep(0.05)
    newest = max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    pid = int(newest.name.partition("-")[0])
    os.kill(pid, signal.SIGKILL)
    killed.append(pid)


def main(folder: Path) -> None:
    texts = folder / "texts"
    (texts / "more").mkdir(parents=True)
    (texts / "a.txt").write_text("".join(LINES), "utf-8")
    (texts / "more" / "b.txt").write_text("7 km\nnone", "utf-8")
    os.environ["NUMERATE_PART_BYTES"] = "8000"
    seen: dict[str, Any] = {}
    find_parts.find_in_files([str(texts)], str(folder / "local"), FindJob(), LocalEngine())
    stats = stats_of_files([str(texts)], StatsPart(), LocalEngine())
    prepare("exponent", output=str(folder / "prepared-local"), data=str(texts), scale="tiny")
    files = [str(texts / "a.txt"), str(texts / "more" / "b.txt")]
    checked = json_report(check_on_engine(files, CheckOptions(), "local", 1, None))
    begin = time.monotonic()
    with engine_of("ray", 2) as engine:
        killed: list[int] = []
        killer = threading.Thread(target=kill_one, args=(folder / "begun", killed), daemon=True)
        killer.start()
        watched = Watched(engine, folder / "begun")
        find_parts.find_in_files([str(texts)], str(folder / "ray"), FindJob(), watched)
        killer.join(1)
        begun = [path.name.partition("-") for path in (folder / "begun").iterdir()]
        again = {number for pid, _, number in begun if int(pid) in killed}
        seen["killed"] = len(killed)
        seen["taken over"] = any(number in again for pid, _, number in begun if int(pid) not in killed)
        seen["find"] = tree(folder / "local") == tree(folder / "ray")
        seen["stats"] = json.dumps(stats_of_files([str(texts)], StatsPart(), engine)) == json.dumps(stats)
        prepare("exponent", output=str(folder / "prepared-ray"), data=str(texts), scale="tiny", engine="ray")
        seen["prepare"] = tree(folder / "prepared-local" / "train") == tree(folder / "prepared-ray" / "train")
        seen["check"] = json_report(check_on_engine(files, CheckOptions(), "ray", 2, None)) == checked
        (texts / "more" / "b.txt").write_bytes(b"5 km\n\xff\xfe\n")
        try:
            stats_of_files([str(texts)], StatsPart(), engine)
        except BadInput as error:
            seen["error"] = str(error).replace(str(folder), "")
    seen["seconds"] = round(time.monotonic() - begin, 1)
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
