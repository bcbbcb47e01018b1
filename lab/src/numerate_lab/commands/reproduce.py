"""`numerate reproduce`: a paper's tables, trained and rendered again."""

from __future__ import annotations

import dataclasses
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral, NextNumeralConfig

__all__ = ["RUNS", "recompute_numerals_2018", "reproduce_nature", "reproduce_numerals_2018", "reproduce_xval"]

RUNS = ("numerals-2018", "xval-table1", "xval-table2", "xval-table3", "xval-table4", "xval-table5")


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
    processes: int = 1,
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
        processes: Train so many models at a time, each in a process of its own: a small model leaves most of an
            accelerator idle.
    """
    from numerate_lab.papers.numerals2018 import numeral_models as bench
    from numerate_lab.papers.numerals2018 import numeral_report as report
    from numerate_lab.tasks.next_numeral.corpora import CorpusError
    from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral

    target = Path(output)
    chosen = corpora or (bench.CORPORA if data is not None else ("clinical",))
    try:
        configs: dict[tuple[str, str], NextNumeralConfig] = {}
        for corpus in chosen:
            for name in models or bench.MODELS:
                config = dataclasses.replace(bench.config_for(corpus, name, scale, data), seconds=seconds)
                file = target / corpus / f"{name}.json"
                if file.is_file() and (otherwise := bench.differs(file, config)) is not None:
                    raise BadInput(f"{file}: was trained with {otherwise}; give another --output, or remove it")
                if file.is_file():
                    say(f"{corpus}, {name}: there already")
                else:
                    configs[corpus, name] = config
        first = {corpus: configs[corpus, name] for corpus, name in reversed(configs)}
        tasks = {corpus: NextNumeral(config) for corpus, config in first.items()}
        for corpus, task in tasks.items():
            bench.write_corpus(task, target / corpus)
        if processes == 1:
            for (corpus, name), config in configs.items():
                say(_train(tasks[corpus], config, corpus, name, output, save))
        else:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(processes, mp_context=context, max_tasks_per_child=1) as pool:
                waiting = [pool.submit(_train, None, configs[pair], *pair, output, save) for pair in configs]
                for done in waiting:
                    say(done.result())
        for corpus, task in tasks.items() if save else ():
            _draw(task, target / corpus)
    except (CorpusError, ValueError) as error:
        raise BadInput(str(error)) from None
    if not target.is_dir():
        raise BadInput(f"{output}: no such folder, and nothing was written")
    for file in report.write(target):
        say(str(file))


def recompute_numerals_2018(
    output: str,
    *,
    corpora: tuple[str, ...],
    models: tuple[str, ...],
    scale: str,
    data: str | None,
    say: Callable[[str], None],
) -> None:
    """Computes every figure in the output folder again from the predictions beside it, and trains nothing.

    Args:
        output: A folder that `reproduce_numerals_2018` has written.
        corpora: Which corpora; all that are there and can be read, if empty.
        models: Which models; all that are there, if empty.
        scale: What the texts were cut to: `tiny`, `small` or `paper`.
        data: The folder that the run's sources are below.
        say: Prints a line.

    Raises:
        BadInput: There is nothing, or something does not come out again.
    """
    from numerate_lab.papers.numerals2018 import numeral_models as bench
    from numerate_lab.tasks.next_numeral.corpora import CorpusError
    from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral

    wrong, count = [], 0
    for corpus in corpora or (bench.CORPORA if data is not None else ("clinical",)):
        folder = Path(output) / corpus
        names = [name for name in models or bench.MODELS if (folder / f"{name}.npz").is_file()]
        if not names:
            continue
        try:
            task = NextNumeral(bench.config_for(corpus, names[0], scale, data))
        except (CorpusError, ValueError) as error:
            raise BadInput(str(error)) from None
        for name, same in bench.recompute(task, names, folder).items():
            say(f"{corpus}, {name}: {'the same' if same else 'OTHERWISE'}")
            count, wrong = count + 1, wrong if same else [*wrong, f"{corpus}, {name}"]
    if not count:
        raise BadInput(f"{output}: there are no predictions to compute from")
    if wrong:
        raise BadInput(f"{len(wrong)} of {count} do not come out again: {'; '.join(wrong)}")


def reproduce_xval(
    table: str,
    output: str,
    *,
    encodings: tuple[str, ...],
    scale: str,
    seeds: int | None,
    say: Callable[[str], None],
    processes: int = 1,
) -> None:
    """Renders Table 1, or trains what has no result yet of Table 2 or 3 and renders it.

    Args:
        table: Which.
        output: A folder.
        encodings: Which; all of the table's, if empty.
        scale: `tiny`, `small` or `paper`.
        seeds: Trainings of each encoding; None for the scale's.
        say: Prints a line.
        processes: Train so many models at a time.
    """
    from numerate.registry import UnknownNameError
    from numerate.training.results import OtherSettingsError
    from numerate_lab.engine.grid import compare
    from numerate_lab.papers.xval2023.arithmetic_report import write_table, write_table1
    from numerate_lab.papers.xval2023.arithmetic_tables import config_for

    if table == "xval-table1":
        files = write_table1(Path(output))
    else:
        try:
            config = config_for(table, scale, encodings, seeds)
        except (UnknownNameError, ValueError) as error:
            raise BadInput(str(error)) from None
        try:
            rates = compare(config, output, processes=processes, say=say)
        except OtherSettingsError as error:
            raise BadInput(str(error)) from None
        files = write_table(table, config, Path(output), rates)
    for file in files:
        say(str(file))


def reproduce_nature(
    table: str,
    output: str,
    *,
    encodings: tuple[str, ...],
    scale: str,
    seeds: int | None,
    data: str | None,
    say: Callable[[str], None],
    processes: int = 1,
) -> None:
    """Trains what has no result yet of Table 4 or 5, and renders it with its figures.

    Args:
        table: Which.
        output: A folder.
        encodings: Which; all of the table's, if empty.
        scale: `tiny`, `small` or `paper`.
        seeds: Trainings of each encoding; None for the scale's.
        data: Of Table 4, a file of temperatures; without, they are made up.
        say: Prints a line.
        processes: Train so many encodings at a time.
    """
    from numerate.registry import UnknownNameError
    from numerate_lab.papers.xval2023.record_report import write_nature
    from numerate_lab.papers.xval2023.record_tables import config_for, reproduce

    try:
        config = config_for(table, scale, encodings, seeds, data)
        rates = reproduce(config, output, processes=processes, say=say)
    except (UnknownNameError, ValueError) as error:
        raise BadInput(str(error)) from None
    for file in write_nature(table, config, Path(output), rates):
        say(str(file))


def _train(task: NextNumeral | None, config: NextNumeralConfig, corpus: str, name: str, output: str, save: bool) -> str:
    """Trains one model and says how it went; a process of its own reads the corpus again."""
    from numerate_lab.papers.numerals2018.numeral_models import run_model
    from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral

    found = run_model(task or NextNumeral(config), config, name, Path(output) / corpus, save=save)
    return f"{corpus}, {name}: numeral APP {found.perplexities['numerals'].app:.2f}"


def _draw(task: NextNumeral, folder: Path) -> None:
    """Draws the figures of all models that are kept in a corpus' folder."""
    from numerate.modeling.attaching import from_pretrained
    from numerate.report import save
    from numerate_lab.papers.numerals2018.numeral_figures import figures
    from numerate_lab.papers.numerals2018.numeral_models import MODELS

    kept = [name for name in MODELS if (folder / name / "number_model.safetensors").is_file()]
    for name, figure in figures(task, {name: from_pretrained(folder / name) for name in kept}).items():
        save(figure, folder / "figures" / f"{name}.svg")
