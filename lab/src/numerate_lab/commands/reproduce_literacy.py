"""`numerate reproduce literacy-table3` and its neighbours: masked words and masked numbers, trained and rendered."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid

__all__ = ["RUNS", "reproduce_literacy"]

RUNS = (
    "literacy-table3", "literacy-table4", "literacy-table5", "literacy-table6", "literacy-bins", "literacy-protocols",
    "float-table1", "float-table2", "masked-numbers",
)  # fmt: skip
"""What there is; `literacy-table5` shows what the cells of Table 3 say, sentence by sentence."""


def reproduce_literacy(
    table: str,
    output: str,
    *,
    models: tuple[str, ...],
    data: str | None,
    corpora: tuple[str, ...] = (),
    encoders: tuple[str, ...] = (),
    scale: str = "tiny",
    train: str = "head",
    seeds: int | None = None,
    plain: str | None = None,
    processes: int = 1,
    save: bool = False,
    recompute: bool = False,
    say: Callable[[str], None],
) -> None:
    """Trains the cells that have no result yet in the output folder, and renders a table there.

    Args:
        table: One of `RUNS`.
        output: A folder.
        models: Folders or Hub names of masked language models.
        data: The folder with a folder for each corpus.
        corpora: Which; all, if empty. A file or a Hub name needs no `data`.
        encoders: Which; all of the table's, if empty.
        scale: `tiny`, `small`, `small-by-unit` or `paper`.
        train: `head`, `all`, or `both`.
        seeds: Trainings of each encoder; None for the scale's.
        plain: A file of texts, of which those without numbers are measured.
        processes: So many encoders at a time.
        save: Keep the model of each encoder's first seed.
        recompute: Train nothing, and compute every figure that is there again from the predictions beside it.
        say: Prints a line.
    """
    if not models:
        raise BadInput(f"{table} needs a masked language model: --model DIR, a folder or a Hub name")
    if data is None and not corpora:
        raise BadInput(
            f"{table} needs sentences with numbers: --data DIR, a folder with units/ and market/ in it, or --corpus "
            "with a file or a Hub name (usc-isi/WikiConvert)"
        )
    from numerate_lab.papers.literacy2021.prediction_grid import BASE, run_grids
    from numerate_lab.papers.literacy2021.prediction_tables import grids_for

    if table == "literacy-table5" and encoders and BASE not in encoders:
        raise BadInput(f"literacy-table5 shows what an encoder mends of {BASE}'s: add --encoder {BASE}")
    trained = "literacy-table3" if table == "literacy-table5" else table
    options = {"data": data, "models": models, "corpora": corpora, "encoders": encoders, "seeds": seeds, "plain": plain}
    try:
        grids = [
            grid
            for which in (("head", "all") if train == "both" else (train,))
            for grid in grids_for(trained, scale, train=which, save=save, **options)  # type: ignore[arg-type]
        ]
        if recompute:
            _recompute(grids, output, say)
            return
        for model in dict.fromkeys(grid.cell.model for grid in grids):
            _check_model(model)
        try:
            run_grids(grids, output, processes=processes, say=say)
        finally:  # a table of what there is, even if some encoders failed
            if any(Path(output, grid.name).is_dir() for grid in grids):
                show = _mended if table == "literacy-table5" else functools.partial(_tables, table)
                for file in show(grids, Path(output)):
                    say(str(file))
    except (ValueError, LookupError, OSError, RuntimeError) as error:
        raise BadInput(" ".join(str(error).split())[:500]) from None


def _check_model(model: str) -> None:
    """Says at once, and in one line, that there is no such model: training would say it later, and otherwise."""
    from transformers import AutoConfig

    if not Path(model).is_dir() and model.startswith((".", "/", "~")):
        raise BadInput(f"{model}: no such folder")
    try:
        AutoConfig.from_pretrained(model)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise BadInput(f"{model}: no model of that name, here or on the Hub: {why}") from None


def _recompute(grids: list[LiteracyGrid], output: str, say: Callable[[str], None]) -> None:
    from numerate_lab.papers.literacy2021.prediction_grid import recompute

    found = {f"{grid.name}, {name}": same for grid in grids for name, same in recompute(grid, output).items()}
    for name, same in found.items():
        say(f"{name}: {'its predictions were not kept' if same is None else 'the same' if same else 'OTHERWISE'}")
    wrong = [name for name, same in found.items() if same is False]
    if all(same is None for same in found.values()):
        raise BadInput(f"{output}: there are no predictions to compute from")
    if wrong:
        raise BadInput(f"{len(wrong)} of {len(found)} do not come out again: {'; '.join(wrong)}")


def _tables(name: str, grids: list[LiteracyGrid], output: Path) -> list[Path]:
    """Tables of all encoders that are there, and not only of those that were asked for this time."""
    from numerate_lab.papers.literacy2021.prediction_grid import finals_of
    from numerate_lab.papers.literacy2021.prediction_report import write_tables
    from numerate_lab.papers.literacy2021.prediction_tables import encoders_of

    whole = [dataclasses.replace(grid, encoders=encoders_of(name) | grid.encoders) for grid in grids]
    there = [{each: own for each, own in grid.encoders.items() if finals_of(grid, each, output)} for grid in whole]
    shown = [dataclasses.replace(grid, encoders=some) for grid, some in zip(whole, there, strict=True) if some]
    return write_tables(name, shown, output)


def _mended(grids: list[LiteracyGrid], output: Path) -> list[Path]:
    from numerate.files import write_atomically
    from numerate_lab.papers.literacy2021.prediction_grid import BASE, finals_of
    from numerate_lab.papers.literacy2021.prediction_report import mended_table

    files = []
    for grid in grids:
        shown = [
            mended_table(grid, name, output).markdown()
            for name in grid.encoders
            if name != BASE and BASE in grid.encoders and all(finals_of(grid, each, output) for each in (name, BASE))
        ]
        files.append(write_atomically(output / f"literacy-table5-{grid.setting}.md", "\n".join(shown).encode()))
    return files
