"""`numerate reproduce`: a paper's tables, trained and rendered again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.commands.source import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.tasks.next_numeral import NextNumeral

__all__ = ["RUNS", "reproduce_numerals_2018"]

RUNS = ("numerals-2018",)


def reproduce_numerals_2018(
    output: str,
    *,
    corpora: tuple[str, ...],
    models: tuple[str, ...],
    scale: str,
    data: str | None,
    seconds: float | None,
    save: bool,
    say: Callable[[str], None],
) -> None:
    """Trains the models that have no result yet in the output folder, and renders all tables there.

    Args:
        output: A folder; `<corpus>/<model>.json` and `.npz` are written below it.
        corpora: Which corpora; all of the run's that can be read, if empty.
        models: Which models; all of the run's, if empty.
        scale: `tiny`, `small` or `paper`.
        data: The folder that the run's sources are below.
        seconds: Time limit for each training.
        save: Keep the models, too, and draw Figures 3 to 6 from them (extra `plots`).
        say: Prints a line.
    """
    from numerate.bench import numerals_2018 as bench
    from numerate.report import numerals_2018 as report
    from numerate.tasks.corpora import CorpusError
    from numerate.tasks.next_numeral import NextNumeral

    target = Path(output)
    chosen = corpora or (bench.CORPORA if data is not None else ("clinical",))
    try:
        for corpus in chosen:
            task = None
            for name in models or bench.MODELS:
                config = dataclasses.replace(bench.config_for(corpus, name, scale, data), seconds=seconds)
                if (target / corpus / f"{name}.json").is_file():
                    say(f"{corpus}, {name}: there already")
                    continue
                if task is None:
                    task = NextNumeral(config)
                    bench.write_corpus(task, target / corpus)
                found = bench.run_model(task, config, name, target / corpus, save=save).perplexities["numerals"]
                say(f"{corpus}, {name}: numeral APP {found.app:.2f}")
            if task is not None and save:
                _draw(task, target / corpus)
    except (CorpusError, ValueError) as error:
        raise BadInput(str(error)) from None
    if not target.is_dir():
        raise BadInput(f"{output}: no such folder, and nothing was written")
    for file in report.write(target):
        say(str(file))


def _draw(task: NextNumeral, folder: Path) -> None:
    """Draws the figures of all models that are kept in a corpus' folder."""
    from numerate.attach import from_pretrained
    from numerate.bench.numerals_2018 import MODELS
    from numerate.report import save
    from numerate.report.numerals_2018_figures import figures

    kept = [name for name in MODELS if (folder / name / "number_model.safetensors").is_file()]
    for name, figure in figures(task, {name: from_pretrained(folder / name) for name in kept}).items():
        save(figure, folder / "figures" / f"{name}.svg")
