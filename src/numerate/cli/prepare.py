"""`numerate prepare`: a run's texts, encoded once for many trainings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from numerate.cli.train import checked_run
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

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
    """Encodes a run's texts into a folder that `numerate train --data` takes.

    Args:
        name: A shipped run's name, or a YAML file.
        output: The folder; what is there already and still fits is left as it is.
        data: The training texts, in place of the run's.
        dev: The same for evaluation.
        test: The same for the end.
        scale: One of the run's scales.
        changes: `key.sub=value` each.
        say: Prints a line.
    """
    run = checked_run(name, scale, changes, train=data, dev=dev, test=test)
    if run.data.records:
        raise BadInput(f"{name}: records are prepared by their training itself: `numerate train {name} --data FILE`")
    from numerate.training import build
    from numerate.training.data import is_prepared

    quiet_unless_terminal()
    folder = Path(output)
    if run.data.train is not None and isinstance(run.data.train, str) and is_prepared(run.data.train):
        raise BadInput(f"{run.data.train}: is prepared already; give texts")
    if folder.exists() and not is_prepared(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder}: holds something else; give a new folder")
    try:
        ready = build.prepare(run, folder)
    except ValueError as error:
        raise BadInput(" ".join(str(error).split())[:1000]) from None
    if not ready.data:
        raise BadInput("there are no texts: give them with --data, or as data.train in the run")
    for split, shards in ready.data.items():
        meta = shards.meta
        counts = f"{meta['rows']:,} texts, {meta['tokens']:,} tokens, {meta['numbers']:,} numbers"
        empty = f"; {meta['empty']} empty texts left out" if meta["empty"] else ""
        say(f"{shards.folder}: {counts}, {len(meta['shards'])} shards{empty}")
        if split == "train" and meta["numbers"] == 0:
            say(f"{shards.folder}: not one number was found; is data.text the right field?")
