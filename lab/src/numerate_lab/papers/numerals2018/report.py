"""Tables of Spithourakis & Riedel (2018) from a folder of results, with the figures of the paper beside ours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.report.pages import page
from numerate.report.tables import Cell, table
from numerate.training.results import read_predictions
from numerate_lab.engine.tables import load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.report.tables import Table

__all__ = [
    "SEVEN",
    "best_of_seven",
    "beyond_table",
    "chosen_table",
    "corpus_table",
    "error_table",
    "perplexity_table",
    "write_tables",
]

SEVEN = ("softmax", "softmax-rnn", "h-softmax", "h-softmax-rnn", "d-rnn", "mog", "combination")
"""The models of the paper."""
PUBLISHED_RATE = 1e-3
_RUN = load_yaml("numerate_lab.papers.numerals2018")
_FLAT = "*"
_CHOOSING = ("combination", "combination-mixture", "combination-copies", "transformer-mixture", "transformer-copies")
"""Models of Table 4."""


def _results(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in _RUN["models"]:
        file = folder / f"{name}.json"
        if file.is_file():
            yield name, json.loads(file.read_text(encoding="utf-8"))


def _mark(result: dict[str, Any]) -> str:
    """A dagger for training that ended before early stopping and before the end of its schedule."""
    training, config = result["figures"]["training"], result["config"]
    ended = config.get("schedule", "constant") != "constant" and training["epochs"] >= config["epochs"]
    return "" if training["stopped_early"] or ended else "†"


def perplexity_table(folder: str | Path) -> Table:
    """Table 2: plain and adjusted perplexity of words, numerals and all tokens."""
    target = Path(folder)
    rows: dict[str, dict[str, Any]] = {}
    for name, result in _results(target):
        found = result["figures"]["perplexity"]
        rows[name] = {f"PP {part}": found[part]["pp"] for part in ("words", "numerals", "all")}
        rows[name] |= {f"APP {part}": found[part]["app"] for part in ("words", "numerals", "all")}
        rows[name]["APP numerals"] = Cell(found["numerals"]["app"], _mark(result))
        rows[name]["epochs"] = result["figures"]["training"]["epochs"]
    names: tuple[str, ...] = ("APP words", "APP numerals", "APP all")
    paper = _RUN["paper_perplexity"].get(target.name, {})
    theirs: dict[str, dict[str, Any]] = {
        name: dict(
            zip(names, map(Cell, cells, [_FLAT if "h-" not in name and "softmax" in name else ""] * 3), strict=True)
        )
        for name, cells in paper.items()
        if name in rows
    }
    stand_in = _RUN["stand_ins"].get(target.name, target.name)
    notes = [
        f"Stand-in: {stand_in}. The models' order can be compared, the figures not.",
        "APP divides the probability of the unknown type by the number of such types in training: a model with an "
        "unknown type may be better than the true distribution where most numerals are new.",
    ]
    if theirs:
        notes.append(
            "* Corrected: the paper's flat models count unknown types twice (58,443.72 and 3,505,856.25 there)."
        )
    if any(_mark(result) for _, result in _results(target)):
        notes.append("† Training was cut short before the dev loss stopped falling.")
    rates = {result["config"]["rate"] for name, result in _results(target) if name in SEVEN}
    if rates - {PUBLISHED_RATE}:
        notes.append(
            f"Learning rate {', '.join(f'{rate:g}' for rate in sorted(rates))}; published: {PUBLISHED_RATE:g}."
        )
    columns = {f"PP {part}": ".2f" for part in ("words", "numerals", "all")}
    columns |= dict.fromkeys(names, ".2f") | {"epochs": ".0f"}
    best: dict[str, Any] = dict.fromkeys(names, "min")
    return table(
        rows, columns, best=best, paper=theirs, corner="model", title=f"Perplexity, {target.name}", notes=notes
    )


def error_table(folder: str | Path, estimate: str = "candidate") -> Table:
    """Table 3: errors on the number line.

    Args:
        folder: Results of a corpus.
        estimate: `candidate`, as in the paper, or `mean` or `median` of the distribution.
    """
    target = Path(folder)
    rows: dict[str, dict[str, Any]] = {}
    skipped = 0
    for name, result in _results(target):
        lines = result["figures"]["number_line"]
        for always in ("always the mean", "always the median"):
            rows.setdefault(always, {error: score["value"] for error, score in lines[always].items()})
        rows[name] = {error: score["value"] for error, score in lines[estimate].items()}
        skipped = lines[estimate]["MdAPE"]["skipped"]
    errors: tuple[str, ...] = ("MdAE", "MAPE", "MdAPE")
    paper: dict[str, dict[str, Any]] = {
        name: dict(zip(errors, cells, strict=True))
        for name, cells in _RUN["paper_errors"].get(target.name, {}).items()
        if name in rows and estimate == "candidate"
    }
    formats = {"RMSE": ".4g", "MAE": ".4g", "MdAE": ".2f", "MAPE": ".4g", "MdAPE": ".2f"}
    title = f"Number line by the {'best candidate' if estimate == 'candidate' else estimate}, {target.name}"
    notes = [f"Percentages leave out {skipped:,} numbers that are 0."]
    return table(rows, formats, best="min", paper=paper, corner="model", title=title, notes=notes)


def corpus_table(folder: str | Path) -> Table | None:
    """Table 1: statistics of each split; None if they are missing."""
    file = Path(folder) / "corpus.json"
    if not file.is_file():
        return None
    found = json.loads(file.read_text(encoding="utf-8"))["figures"]
    rows = {
        split: {
            "texts": row["records"],
            "mean length": row["tokens"] / max(row["records"], 1),
            "numerals %": 100 * row["numerals"] / max(row["tokens"], 1),
            "smallest": row["smallest"],
            "median": row["median"],
            "largest": row["largest"],
            "known words %": 100 * row["known_words"],
            "known numerals %": 100 * row["known_numerals"],
        }
        for split, row in found.items()
    }
    formats = {
        "texts": ",.0f",
        "mean length": ".1f",
        "numerals %": ".2f",
        "smallest": "g",
        "median": "g",
        "largest": ".3g",
    }
    formats |= {"known words %": ".1f", "known numerals %": ".1f"}
    return table(rows, formats, corner="split", title=f"Corpus, {Path(folder).name}")


def chosen_table(folder: str | Path, name: str = "combination", least: int = 5, shown: int = 12) -> Table | None:
    """Table 4: numerals for which each member of a combination is chosen; None without such a model.

    Args:
        folder: Results of a corpus.
        name: The combination.
        least: Minimum count of a numeral.
        shown: Number of numerals per member.
    """
    target = Path(folder)
    if not (target / f"{name}.npz").is_file():
        return None
    stored = read_predictions(target / f"{name}.npz")
    columns = {key.removeprefix("test_"): column for key, column in stored.items()}
    head = json.loads((target / f"{name}.json").read_text(encoding="utf-8"))["config"]["head"]
    kinds = [member["kind"] for member in head["members"]] + ["copied"] * head.get("copies", False)
    texts = [
        f"{value:.{max(0, -precision)}f}"
        for value, precision in zip(columns["gold"].tolist(), columns["precision"].tolist(), strict=True)
    ]
    sums: dict[str, Any] = {}
    for text, row in zip(texts, columns["chosen"].double(), strict=True):
        total, count = sums.get(text, (0, 0))
        sums[text] = (total + row, count + 1)
    means = {text: total / count for text, (total, count) in sums.items() if count >= least}
    rows = {}
    for place, kind in enumerate(kinds):
        best = sorted(means, key=lambda text: (-float(means[text][place]), text))[:shown]
        share = float(columns["chosen"][:, place].double().mean())
        rows[kind] = {"share": 100 * share, "numerals": ", ".join(best)}
    note = f"Posterior share of a member in percent, and the numerals ({least} or more in test) with the largest share."
    title = f"Chosen by `{name}`, {target.name}"
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


def best_of_seven(folder: str | Path) -> dict[str, float]:
    """The least numeral APP and MdAPE, by the best candidate and by the median, of the paper's seven models."""
    found = [_judged(result) for name, result in _results(Path(folder)) if name in SEVEN]
    return {key: min(one[key] for one in found) for key in found[0]} if found else {}


def beyond_table(folder: str | Path) -> Table | None:
    """Other models relative to the best of the seven models of the paper in each column; None without both.

    The aim is 0.7 times the numeral APP and 0.8 times the MdAPE of the best.
    """
    best = best_of_seven(folder)
    rows = {
        name: {key: value / best[key] for key, value in _judged(result).items()}
        for name, result in _results(Path(folder))
        if name not in SEVEN and best
    }
    if not rows:
        return None
    columns: dict[str, str] = dict.fromkeys(best, ".2f")
    title = f"Ratio to the best of the paper's seven, {Path(folder).name}"
    return table(rows, columns, best="min", corner="model", title=title, notes=["Aim: 0.70 of APP and 0.80 of MdAPE."])


def _judged(result: dict[str, Any]) -> dict[str, float]:
    figures = result["figures"]
    errors = {name: figures["number_line"][name]["MdAPE"]["value"] for name in ("candidate", "median")}
    return {
        "APP numerals": figures["perplexity"]["numerals"]["app"],
        "MdAPE": errors["candidate"],
        "MdAPE by the median": errors["median"],
    }
