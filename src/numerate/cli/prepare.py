"""`numerate prepare`: encodes a run's texts once for several trainings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from numerate.cli.source import one_line_errors
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal
from numerate.training.run import load_run

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["prepare"]


def prepare(
    name: str,
    output: str,
    *,
    data: str | None = None,
    dev: str | None = None,
    test: str | None = None,
    scale: str | None = None,
    changes: tuple[str, ...] = (),
    say: Callable[[str], None],
) -> None:
    """Encodes a run's texts into a folder for `numerate train --data`.

    Args:
        name: Name of a shipped run, or a YAML file.
        output: The folder; existing texts of the same run are not encoded again.
        data: Training texts instead of the run's.
        dev: Evaluation texts instead of the run's.
        test: Test texts instead of the run's.
        scale: One of the run's scales.
        changes: Changes to the run, each `key.sub=value`.
        say: Prints a line.
    """
    run = load_run(name, scale=scale, changes=changes).with_data(train=data, dev=dev, test=test)
    if run.data.records:
        raise BadInput(f"{name}: records cannot be prepared; train on them: `numerate train {name} --data FILE`")
    from numerate.training import build
    from numerate.training.data import is_prepared

    quiet_unless_terminal()
    folder = Path(output)
    if run.data.train is not None and isinstance(run.data.train, str) and is_prepared(run.data.train):
        raise BadInput(f"{run.data.train} is already prepared; give texts")
    if folder.exists() and not is_prepared(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} contains other files; give a new folder")
    with one_line_errors():
        ready = build.prepare(run, folder)
    if not ready.data:
        raise BadInput("the run has no texts: give --data, or data.train in the run")
    for split, shards in ready.data.items():
        meta = shards.meta
        counts = f"{meta['rows']:,} texts, {meta['tokens']:,} tokens, {meta['numbers']:,} numbers"
        empty = f"; {meta['empty']} empty texts skipped" if meta["empty"] else ""
        say(f"{shards.folder}: {counts}, {len(meta['shards'])} shards{empty}")
        if split == "train" and meta["numbers"] == 0:
            say(f"{shards.folder}: no number found; is data.text the right field?")
