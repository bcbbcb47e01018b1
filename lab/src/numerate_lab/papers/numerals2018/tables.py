"""The tables of Spithourakis & Riedel (2018): a grid for each corpus, and tables with the paper's figures beside ours.

Their corpora are not available (arXMLiv paragraphs are not distributed, the clinical records are private). Ours replace
them, so that the order of the models can be compared with the paper, but not the figures.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.report.pages import page
from numerate.report.tables import Cell, table
from numerate_lab.engine.grid import Grid
from numerate_lab.engine.paper_tables import Paper, check_name, load_yaml, paper
from numerate_lab.engine.trial import columns_of_split, read_columns
from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral
from numerate_lab.tasks.next_numeral.numeral_trial import NextNumeralTrial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.report.tables import Table
    from numerate_lab.engine.paper_tables import Options

__all__ = ["Numerals", "beyond_table", "chosen_table", "corpus_source", "corpus_table", "grid_for", "write_tables"]

_RUN = load_yaml("numerate_lab.papers.numerals2018")
SEVEN = ("softmax", "softmax-rnn", "h-softmax", "h-softmax-rnn", "d-rnn", "mog", "combination")
"""The models of the paper."""
PUBLISHED_RATE = 1e-3
_CHOOSING = ("combination", "combination-mixture", "combination-copies", "transformer-mixture", "transformer-copies")
"""Models of Table 4."""


def grid_for(
    corpus: str, models: Sequence[str] = (), scale: str = "paper", data: str | None = None, **options: Any
) -> Grid:
    """The grid of a corpus; names of corpora, models (all by default) and scales are those of `tables.yaml`.

    `data` is the folder of the corpora, not needed for `clinical`; `options` are more fields of the trial.

    Example:
        >>> grid_for("clinical", ["mog"]).of("mog").vocabulary
        1000
    """
    check_name("corpus", corpus, list(_RUN["corpora"]))
    check_name("scale", scale, list(_RUN["scales"]))
    size = _RUN["scales"][scale]
    shared = _RUN["corpora"][corpus] | size | options
    shared["source"] = corpus_source(corpus, data)
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


def corpus_source(corpus: str, data: str | None) -> str:
    """Where a corpus is read from: a file or folder in `data`, or `clinical`, which is generated."""
    source = _RUN["corpora"][corpus]["source"]
    if source == "clinical":
        return source
    if data is None:
        raise ValueError(f"corpus {corpus!r} is read from files: give --data, the folder with {source!r}")
    return str(Path(data) / source)


@paper("numerals-2018")
class Numerals(Paper):
    """All tables of the paper, for each corpus."""

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each corpus that can be read."""
        chosen = options.corpora or (tuple(_RUN["corpora"]) if options.data is not None else ("clinical",))
        size = options.models, options.scale, options.data
        found = [grid_for(corpus, *size, seconds=options.seconds) for corpus in chosen]
        return [dataclasses.replace(grid, save=options.save) for grid in found]

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """Writes `<corpus>.md` and a page, and the figures of saved models."""
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


def _results(folder: str | Path) -> dict[str, dict[str, Any]]:
    """Settings and figures of the models that have a result."""
    files = {name: Path(folder) / f"{name}.json" for name in _RUN["models"]}
    return {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.is_file()}


def _mark(result: dict[str, Any]) -> str:
    """A dagger for training that ended before early stopping and before the end of its schedule."""
    training, config = result["figures"]["training"], result["config"]
    ended = config.get("schedule", "constant") != "constant" and training["epochs"] >= config["epochs"]
    return "" if training["stopped_early"] or ended else "†"


def perplexity_table(folder: str | Path) -> Table:
    """Table 2: plain and adjusted perplexity of words, numerals and all tokens."""
    corpus, results = Path(folder).name, _results(folder)
    names = [f"{measure} {part}" for measure in ("PP", "APP") for part in ("words", "numerals", "all")]
    rows: dict[str, dict[str, Any]] = {}
    for name, result in results.items():
        found = result["figures"]["perplexity"]
        rows[name] = {f"{key.upper()} {part}": found[part][key] for part in found for key in ("pp", "app")}
        rows[name]["APP numerals"] = Cell(found["numerals"]["app"], _mark(result))
        rows[name]["epochs"] = result["figures"]["training"]["epochs"]
    theirs: dict[str, dict[str, Any]] = {}
    for name, cells in _RUN["paper_perplexity"].get(corpus, {}).items():
        mark = "*" if name in ("softmax", "softmax-rnn") else ""
        if name in rows:
            theirs[name] = {column: Cell(cell, mark) for column, cell in zip(names[3:], cells, strict=True)}
    texts, stand_in = _RUN["notes"], _RUN["stand_ins"].get(corpus, corpus)
    notes = [texts["stand-in"].format(stand_in), texts["adjusted"]]
    notes += [texts["corrected"]] if theirs else []
    notes += [texts["cut short"]] if any(map(_mark, results.values())) else []
    rates = {result["config"]["rate"] for name, result in results.items() if name in SEVEN}
    if rates - {PUBLISHED_RATE}:
        used = ", ".join(f"{rate:g}" for rate in sorted(rates))
        notes.append(f"Learning rate {used}; published: {PUBLISHED_RATE:g}.")
    columns = dict.fromkeys(names, ".2f") | {"epochs": ".0f"}
    best: dict[str, Any] = dict.fromkeys(names[3:], "min")
    return table(rows, columns, best=best, paper=theirs, corner="model", title=f"Perplexity, {corpus}", notes=notes)


def error_table(folder: str | Path, estimate: str = "candidate") -> Table:
    """Table 3: errors of an estimate: the best `candidate`, as in the paper, or `mean` or `median`."""
    corpus, skipped = Path(folder).name, 0
    rows: dict[str, dict[str, Any]] = {}
    for name, result in _results(folder).items():
        lines = result["figures"]["number_line"]
        shown = {always: lines[always] for always in ("always the mean", "always the median")}
        for row, scores in (shown | {name: lines[estimate]}).items():
            rows.setdefault(row, {error: score["value"] for error, score in scores.items()})
        skipped = lines[estimate]["MdAPE"]["skipped"]
    known = _RUN["paper_errors"].get(corpus, {}) if estimate == "candidate" else {}
    errors = ("MdAE", "MAPE", "MdAPE")
    theirs: dict[str, Any] = {key: dict(zip(errors, row, strict=True)) for key, row in known.items() if key in rows}
    formats = {"RMSE": ".4g", "MAE": ".4g", "MdAE": ".2f", "MAPE": ".4g", "MdAPE": ".2f"}
    title = f"Number line by the {'best candidate' if estimate == 'candidate' else estimate}, {corpus}"
    notes = [f"Percentages leave out {skipped:,} numbers that are 0."]
    return table(rows, formats, best="min", paper=theirs, corner="model", title=title, notes=notes)


def corpus_table(folder: str | Path) -> Table | None:
    """Table 1: statistics of each split; None if they are missing."""
    file = Path(folder) / "corpus.json"
    if not file.is_file():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))["figures"]
    rows = {}
    for split, row in found.items():
        length, share = row["tokens"] / max(row["records"], 1), 100 * row["numerals"] / max(row["tokens"], 1)
        known = [100 * row[key] for key in ("known_words", "known_numerals")]
        rows[split] = [row["records"], length, share, row["smallest"], row["median"], row["largest"], *known]
    formats = {
        "texts": ",.0f", "mean length": ".1f", "numerals %": ".2f", "smallest": "g", "median": "g", "largest": ".3g",
        "known words %": ".1f", "known numerals %": ".1f",
    }  # fmt: skip
    return table(rows, formats, corner="split", title=f"Corpus, {Path(folder).name}")


def chosen_table(folder: str | Path, name: str = "combination", least: int = 5, shown: int = 12) -> Table | None:
    """Table 4: for each member of a combination, numerals for which it is chosen; None without such a model.

    The `shown` numerals with the largest share are listed, of those that occur at least `least` times in the test set.
    """
    file = Path(folder) / f"{name}.npz"
    if not file.is_file():
        return None
    columns = columns_of_split(read_columns({"": file}), "test")
    head = _results(folder)[name]["config"]["head"]
    kinds = [member["kind"] for member in head["members"]] + ["copied"] * head.get("copies", False)
    gold, precisions = columns["gold"].tolist(), columns["precision"].tolist()
    sums: dict[str, Any] = {}
    for value, precision, row in zip(gold, precisions, columns["chosen"].astype(np.float64), strict=True):
        text = f"{value:.{max(0, -precision)}f}"
        total, count = sums.get(text, (0, 0))
        sums[text] = (total + row, count + 1)
    means = {text: total / count for text, (total, count) in sums.items() if count >= least}
    rows = {}
    for place, kind in enumerate(kinds):
        best = sorted(means, key=lambda text: (-float(means[text][place]), text))[:shown]
        share = float(columns["chosen"][:, place].mean(dtype=np.float64))
        rows[kind] = {"share": 100 * share, "numerals": ", ".join(best)}
    note = f"Posterior share of a member in percent, and the numerals ({least} or more in test) with the largest share."
    title = f"Chosen by `{name}`, {file.parent.name}"
    return table(rows, {"share": ".1f", "numerals": ""}, corner="member", title=title, notes=[note])


def write_tables(folder: str | Path) -> list[Path]:
    """Writes `<corpus>.md` for each corpus in a folder of results, and `index.html` with all tables."""
    target = Path(folder)
    written, sections = [], {}
    for corpus in sorted(path for path in target.iterdir() if path.is_dir() and any(path.glob("*.json"))):
        tables = [corpus_table(corpus), perplexity_table(corpus)]
        tables += [error_table(corpus, estimate) for estimate in ("candidate", "median", "mean")]
        tables += [beyond_table(corpus), *(chosen_table(corpus, name) for name in _CHOOSING)]
        shown = [one for one in tables if one is not None]
        file = target / f"{corpus.name}.md"
        text = f"# Numerals 2018, {corpus.name}\n\n" + "\n".join(one.markdown() for one in shown)
        file.write_text(re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n", encoding="utf-8")
        written.append(file)
        sections[corpus.name] = shown
    written.append(page("Numerals 2018", sections, target / "index.html"))
    return written


def beyond_table(folder: str | Path) -> Table | None:
    """Other models relative to the best of the seven models of the paper in each column; None without both.

    The aim is 0.7 times the numeral APP and 0.8 times the MdAPE of the best.
    """
    judged: dict[str, dict[str, float]] = {}
    for name, result in _results(folder).items():
        perplexity, errors = (result["figures"][key] for key in ("perplexity", "number_line"))
        judged[name] = {
            "APP numerals": perplexity["numerals"]["app"],
            "MdAPE": errors["candidate"]["MdAPE"]["value"],
            "MdAPE by the median": errors["median"]["MdAPE"]["value"],
        }
    seven = [row for name, row in judged.items() if name in SEVEN]
    if len(seven) in (0, len(judged)):
        return None
    best = {key: min(row[key] for row in seven) for key in seven[0]}
    others = {name: row for name, row in judged.items() if name not in SEVEN}
    rows = {name: {key: value / best[key] for key, value in row.items()} for name, row in others.items()}
    title = f"Ratio to the best of the paper's seven, {Path(folder).name}"
    return table(
        rows, list(best), best="min", corner="model", title=title, notes=["Aim: 0.70 of APP and 0.80 of MdAPE."]
    )
