"""Tables of masked words and masked numbers as grids: one grid for each corpus, model and protocol."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.files import write_atomically
from numerate.modeling.artefact import BASE_FOLDER
from numerate.training.results import Result
from numerate_lab.engine.grid import Grid, best_rate, finals
from numerate_lab.engine.paper_tables import Paper, check_name, load_yaml, paper
from numerate_lab.papers.literacy2021 import number_report, report
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction.masked_number import has_head
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, encoding_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.paper_tables import Options

__all__ = ["Literacy", "PredictionPaper", "setting_of"]

_SHARED = load_yaml("numerate_lab.papers.literacy2021")
WORDS = "masked-words"


class PredictionPaper(Paper):
    """Tables of masked words or masked numbers.

    Attributes:
        tables: Settings of each table, with the figures of the paper.
    """

    tables: ClassVar[dict[str, Any]] = {}
    scales: ClassVar[tuple[str, ...]] = tuple(_SHARED["scales"])

    def encodings(self, table: str, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Trial fields of the given encodings or, by default, of the table's encodings."""
        settings, found = self.tables[table], {}
        for name in names or settings["encodings"]:
            fields = encoding_fields(name)
            if settings.get("task", WORDS) != WORDS:
                if not has_head(fields):
                    raise ValueError(f"encoding {name!r} has no head for numbers: give {name}+mixture or another head")
            elif "predict" in fields:
                raise ValueError(f"encoding {name!r} predicts numbers, but {table} is a table of words")
            elif name != report.BASE:  # words that move with the number are those of the base encoding
                fields |= {"shift": None}
            found[name] = fields
        return found

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each kind of training, corpus, pretrained model and protocol."""
        if not options.models:
            raise ValueError(f"{table} needs a masked language model: --model DIR, a folder or a Hub name")
        if options.data is None and not options.corpora:
            raise ValueError(
                f"{table} needs sentences with numbers: --data DIR, a folder with units/ and market/, or --corpus "
                "with a file or a Hub name (usc-isi/WikiConvert)"
            )
        check_name("scale", options.scale, self.scales)
        check_name("train", options.train, ("head", "all", "both"))
        trained = ("head", "all") if options.train == "both" else (options.train,)
        found = [grid for train in trained for grid in self._grids(table, options, train)]
        trials: list[Any] = [grid.trial for grid in found]
        if PLAIN in self.tables[table].get("parts", ()) and any(trial.plain is None for trial in trials):
            raise ValueError(f"{table} needs texts without numbers: --plain FILE")
        names = [(grid.name, grid.choice) for grid in found]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two models or corpora have the same folder {twice[0][0]!r}: rename one of them")
        if not options.recompute:
            for model in dict.fromkeys(trial.model for trial in trials):
                _check_model(model)
        return found

    def _grids(self, table: str, options: Options, train: str) -> list[Grid]:
        settings, size = self.tables[table], _SHARED["scales"][options.scale]
        task = settings.get("task", WORDS)
        rates = size["rates"] if train == "head" else size.get("backbone_rates", size["rates"])
        if train == "head" and "rates" in settings:  # the smallest scale shows that a choice is made, no more
            rates = settings["rates"][1:3] if options.scale == "tiny" else settings["rates"]
        trial = size["trial"] | (size.get("all_trial", {}) if train == "all" else {})
        trial |= settings.get("trial", {}).get(size.get("like", options.scale), {}) | {"train": train}
        trial |= settings.get("shared", {})
        # Another choice of rates is another table, in a folder of its own.
        suffix = f"-by-{size['chosen_by']}" if "chosen_by" in size else ""
        suffix += f"-{settings['folder']}" if "folder" in settings else ""
        shared: dict[str, Any] = {
            "task": task, "encodings": self.encodings(table, options.encoders), "rates": tuple(rates),
            "seeds": size["seeds"] if options.seeds is None else options.seeds, "resamples": size["resamples"],
            "base": report.BASE if task == WORDS else None, "save": options.save,
        }  # fmt: skip
        shared |= {"rate_share": 1.0} if "folder" in settings else {}
        found, corpora, protocols = [], options.corpora or _SHARED["corpora"], settings.get("protocols", ("clean",))
        for corpus, model, protocol in itertools.product(corpora, options.models, protocols):
            own = trial | {"source": _source(options.data, corpus), "model": _backbone(model)}
            name = f"{_short(corpus)}-{_short(model)}-{train}{suffix}"
            if task == WORDS:
                name += "" if protocol == "clean" else f"-{protocol}"
                own |= size["words"] | {"chosen_by": size.get("chosen_by", "all")}
                own |= _plain(options) if protocol == "clean" else {"shift": None}
                own |= _SHARED["protocols"][protocol]
            else:
                name += "-numbers"
            for choice in settings.get("choices", ("",)):
                chosen = own | ({"chosen_by": choice} if choice else {})
                found.append(Grid(name=name, choice=choice, trial=tasks[task].Trial.from_dict(chosen), **shared))
        return found

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """Writes `<table>-<setting>.md` and `.json`, with all encodings that have results."""
        output, files, there = Path(options.output), [], {}
        for grid in grids:
            whole = dataclasses.replace(grid, encodings=self.encodings(table) | grid.encodings)
            found = {name: own for name, own in whole.encodings.items() if finals(whole, output, name)}
            if found:
                there.setdefault(setting_of(grid), []).append(dataclasses.replace(grid, encodings=found))
        for setting, some in there.items():
            files += self._write(table, f"{table}-{setting}", some, output)
        return files

    def _write(self, table: str, stem: str, grids: Sequence[Grid], output: Path) -> list[Path]:
        """Writes the tables of the grids of one setting as `<stem>.md`, and their figures as `<stem>.json`."""
        settings, trial = self.tables[table], grids[0].trial
        about, parts = settings.get("about", ""), settings.get("parts", ())
        paper, shown, figures = self.paper_figures(table, trial.source), [], {}  # type: ignore[attr-defined]
        for grid in grids:
            words = grid.task == WORDS
            if words:
                shown += [report.word_table(about, grid, output, part, paper.get(part, {})) for part in parts]
                shown += [report.magnitude_table(grid, output)] if "other" in parts else []
                if len(grid.encodings) > 1 and report.BASE in grid.encodings:
                    shown.append(report.base_table(grid, output))
            else:
                shown.append(number_report.number_table(grid, output))
            key = f"{grid.name}, by {grid.choice}" if grid.choice else grid.name
            figures[key] = {name: {"rate": best_rate(grid, output, name), "seeds": {}} for name in grid.encodings}
            for name, found in figures[key].items():
                for result in finals(grid, output, name):  # all other figures are in the trial's file
                    own = result.figures
                    own = {part: report.figures_of(own, part) for part in parts} if words else own["test"]
                    found["seeds"][result.config.name] = own
        config = {"table": stem, "grids": [grid.settings() for grid in grids]}
        Result(config, figures).write(output / f"{stem}.json")
        text = "\n".join(each.markdown() for each in shown if each is not None)
        return [write_atomically(output / f"{stem}.md", text.encode()), output / f"{stem}.json"]

    def paper_figures(self, table: str, corpus: str) -> dict[str, dict[str, list[float | None]]]:
        """Figures of the paper by group of words and encoding, for a corpus given by its path or Hub name.

        The corpora of the papers have the same figures as those that replace them.

        Example:
            >>> Literacy().paper_figures("literacy-table3", "usc-isi/WikiConvert")["all"]["exponent"]
            [3.05, 66.15, 84.07, 91.16, 95.86]
        """
        letters, known = _letters(_short(corpus)), _SHARED["corpora"]
        names = (ours for ours, theirs in known.items() if letters.startswith((ours, _letters(theirs))))
        return self.tables[table].get("paper", {}).get(next(names, ""), {})


@paper(*_SHARED["tables"], "literacy-table5")
class Literacy(PredictionPaper):
    """Tables of Thawani et al. 2021; `literacy-table5` lists words from the trials of `literacy-table3`."""

    tables: ClassVar[dict[str, Any]] = _SHARED["tables"]

    def grids(self, table: str, options: Options) -> list[Grid]:
        """The grids of a table."""
        if table == "literacy-table5":
            if options.encoders and report.BASE not in options.encoders:
                raise ValueError(f"literacy-table5 compares with {report.BASE}: add --encoder {report.BASE}")
            table = "literacy-table3"
        return super().grids(table, options)

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """Writes the files of a table."""
        if table != "literacy-table5":
            return super().write(table, grids, options)
        return [report.corrected_table(grid, options.output, setting_of(grid)) for grid in grids]


def setting_of(grid: Grid) -> str:
    """Corpus, model and kind of training of a grid: its name without the protocol."""
    name = grid.name.removesuffix("-numbers").removesuffix("-rates")
    for protocol in _SHARED["protocols"]:
        name = name.removesuffix(f"-{protocol}")
    return name


def _check_model(model: str) -> None:
    """Checks that a model exists before training, with an error of one line."""
    from transformers import AutoConfig

    if not Path(model).is_dir() and model.startswith((".", "/", "~")):
        raise ValueError(f"{model}: no such folder")
    try:
        AutoConfig.from_pretrained(model)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise ValueError(f"{model}: no model of that name, here or on the Hub: {why}") from None


def _source(data: str | None, corpus: str) -> str:
    """Path of a corpus: a folder in `data`, or a file, a folder or a Hub name."""
    inside = None if data is None else Path(data) / corpus
    if inside is not None and inside.is_dir():
        return str(inside)
    if Path(corpus).exists() or (corpus.count("/") == 1 and not corpus.startswith((".", "/", "~"))):
        return corpus
    known = [] if data is None or not Path(data).is_dir() else sorted(each.name for each in Path(data).iterdir())
    where = f"{data} has {', '.join(known)}" if known else "give --data DIR, a file, or a Hub name"
    raise ValueError(f"{corpus if inside is None else inside}: no such folder; {where}")


def _short(place: str) -> str:
    """Last part of a path or Hub name, without endings."""
    return Path(place).name.partition(".")[0] or "here"


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _backbone(model: str) -> str:
    """Folder of the backbone if the model was saved by `numerate`, else the model itself."""
    inside = Path(model) / BASE_FOLDER
    return str(inside) if (inside / "config.json").is_file() else model


def _plain(options: Options) -> dict[str, Any]:
    """Texts without numbers: the given file, or the test passages in the data folder."""
    if options.plain is not None:
        return {"plain": options.plain}
    passages = Path(options.data or ".") / "wiki" / "passages.jsonl.gz"
    return {"plain": str(passages), "plain_split": "split"} if passages.is_file() else {}
