"""The tables of Spithourakis & Riedel (2018) as grids: one grid for each corpus, one trial for each model.

Their corpora are not available (arXMLiv paragraphs are not distributed, the clinical records are private). Ours replace
them, so that the order of the models can be compared with the paper, but not the figures.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate_lab.engine.grid import Grid
from numerate_lab.engine.tables import Paper, check_name, load_yaml, paper
from numerate_lab.papers.numerals2018.report import write_tables
from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral
from numerate_lab.tasks.next_numeral.numeral_trial import NextNumeralTrial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.tables import Options

__all__ = ["Numerals", "grid_for"]

_RUN = load_yaml("numerate_lab.papers.numerals2018")


def grid_for(
    corpus: str, models: Sequence[str] = (), scale: str = "paper", data: str | None = None, **options: Any
) -> Grid:
    """The grid of a corpus.

    Args:
        corpus: A corpus of `tables.yaml`.
        models: Models of `tables.yaml`; all by default.
        scale: A scale of `tables.yaml`.
        data: Folder of the corpora; not needed for `clinical`.
        **options: More fields of the trial.

    Example:
        >>> grid_for("clinical", ["mog"]).of("mog").vocabulary
        1000
    """
    check_name("corpus", corpus, list(_RUN["corpora"]))
    check_name("scale", scale, list(_RUN["scales"]))
    size = _RUN["scales"][scale]
    shared = _RUN["corpora"][corpus] | size | options
    if shared["source"] != "clinical":
        if data is None:
            raise ValueError(f"corpus {corpus!r} is read from files: give --data, the folder with {shared['source']!r}")
        shared["source"] = str(Path(data) / shared["source"])
    vectors = None if data is None else Path(data) / _RUN["word_vectors"]
    encodings = {}
    for name in models or _RUN["models"]:
        check_name("model", name, list(_RUN["models"]))
        # Sizes of the smallest scale hold for all models, those of the other scales only where a model has none.
        fields = {k: v for k, v in _RUN["models"][name].items() if scale != "tiny" or k not in size}
        if vectors is not None and vectors.is_file() and (shared | fields).get("width", 50) <= 100:
            fields["word_vectors"] = str(vectors)
        encodings[name] = fields
    trial = NextNumeralTrial.from_dict(shared)
    return Grid(task="next-numeral", encodings=encodings, rates=(), seeds=1, name=corpus, trial=trial)


@paper("numerals-2018")
class Numerals(Paper):
    """All tables of the paper, for each corpus."""

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each corpus that can be read."""
        del table
        chosen = options.corpora or (tuple(_RUN["corpora"]) if options.data is not None else ("clinical",))
        size = options.models, options.scale, options.data
        found = [grid_for(corpus, *size, seconds=options.seconds) for corpus in chosen]
        return [dataclasses.replace(grid, save=options.save) for grid in found]

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """Writes `<corpus>.md` and a page, and the figures of saved models."""
        del table
        if options.save:
            for grid in grids:
                _draw(grid, Path(options.output))
        return write_tables(options.output)


def _draw(grid: Grid, output: Path) -> None:
    """Draws the figures of the saved models of a corpus."""
    from numerate.modeling.attaching import from_pretrained
    from numerate.report import save
    from numerate_lab.papers.numerals2018.numeral_figures import figures

    folder = output / grid.name
    saved = [name for name in _RUN["models"] if (folder / "models" / name / "number_model.safetensors").is_file()]
    models = {name: from_pretrained(folder / "models" / name) for name in saved}
    for name, figure in figures(NextNumeral(grid.trial), models).items():
        save(figure, folder / "figures" / f"{name}.svg")
