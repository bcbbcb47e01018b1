"""The tables of Spithourakis & Riedel (2018) from a folder of results: ours, with the paper's figures beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.report.pages import page
from numerate.report.tables import Cell, table
from numerate.training.results import read_predictions
from numerate_lab.papers.numerals2018.numeral_models import MODELS, SEVEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.report.tables import Table

__all__ = [
    "PAPER_ERRORS",
    "PAPER_PERPLEXITY",
    "best_of_seven",
    "beyond_table",
    "chosen_table",
    "corpus_table",
    "error_table",
    "perplexity_table",
    "write",
]

PUBLISHED_RATE = 1e-3
STAND_INS = {
    "scientific": "arXiv paragraphs that refer to a table (PeerRead), for the arXMLiv paragraphs of the paper",
    "market": "Reuters articles of 1987; no counterpart in the paper",
    "clinical": "made-up cardiac reports, for the private records of the paper",
}
_FLAT = "*"
_NAMES = ("softmax", "softmax-rnn", "h-softmax", "h-softmax-rnn", "d-rnn", "mog", "combination")
# APP of words, numerals and all. The paper's flat models count unknown types twice; these are the corrected cells, from
# its own PP and the adjustment of its hierarchical models, which have the same vocabulary.
PAPER_PERPLEXITY: dict[str, dict[str, tuple[float, float, float]]] = {
    "clinical": dict(zip(_NAMES, [
        (5.06, 507, 6.18), (5.00, 487, 6.08), (4.96, 495.95, 6.05), (4.99, 490.14, 6.09), (4.95, 263.22, 5.88),
        (4.99, 226.46, 5.88), (4.96, 197.59, 5.82),
    ], strict=True)),
    "scientific": dict(zip(_NAMES, [
        (48.7, 571, 53.7), (48.1, 538, 53.0), (49.81, 550.98, 54.80), (48.83, 542.70, 53.73), (48.89, 519.80, 53.70),
        (48.97, 683.16, 54.37), (48.25, 520.95, 53.03),
    ], strict=True)),
}  # fmt: skip
# MdAE, MAPE and MdAPE.
PAPER_ERRORS: dict[str, dict[str, tuple[float, float, float]]] = {
    "clinical": dict(zip(_NAMES, [
        (12.70, 621.78, 22.41), (13.00, 503.57, 23.91), (14.00, 746.50, 25.00), (12.30, 491.85, 23.44),
        (9.00, 513.81, 17.90), (6.92, 348.10, 13.64), (9.00, 552.06, 17.86),
    ], strict=True)) | {"always the mean": (245.59, 2353.11, 409.47), "always the median": (34.52, 425.81, 52.05)},
    "scientific": dict(zip(_NAMES, [
        (3.00, 1947.44, 80.62), (3.50, 15208.37, 80.00), (3.00, 1652.21, 80.00), (3.00, 2703.49, 80.00),
        (3.00, 1287.27, 52.45), (2.10, 590.42, 90.00), (3.00, 2332.50, 88.89),
    ], strict=True)) | {"always the median": (4.20, 8039.15, 98.65)},
}  # fmt: skip
_CHOOSING = ("combination", "combination-mixture", "combination-copies", "transformer-mixture", "transformer-copies")
"""Models that Table 4 is given for."""


def _results(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in MODELS:
        file = folder / f"{name}.json"
        if file.is_file():
            yield name, json.loads(file.read_text(encoding="utf-8"))


def _mark(result: dict[str, Any]) -> str:
    """A dagger for a training that was cut short: neither stopped by its dev loss nor at the end of its schedule."""
    training, config = result["figures"]["training"], result["config"]
    ended = config.get("schedule", "constant") != "constant" and training["epochs"] >= config["epochs"]
    return "" if training["stopped_early"] or ended else "†"


def perplexity_table(folder: str | Path) -> Table:
    """Table 2: perplexity, plain and adjusted, of words, numerals and all tokens."""
    target = Path(folder)
    rows: dict[str, dict[str, Any]] = {}
    for name, result in _results(target):
        found = result["figures"]["perplexity"]
        rows[name] = {f"PP {part}": found[part]["pp"] for part in ("words", "numerals", "all")}
        rows[name] |= {f"APP {part}": found[part]["app"] for part in ("words", "numerals", "all")}
        rows[name]["APP numerals"] = Cell(found["numerals"]["app"], _mark(result))
        rows[name]["epochs"] = result["figures"]["training"]["epochs"]
    names: tuple[str, ...] = ("APP words", "APP numerals", "APP all")
    paper = PAPER_PERPLEXITY.get(target.name, {})
    theirs: dict[str, dict[str, Any]] = {
        name: dict(
            zip(names, map(Cell, cells, [_FLAT if "h-" not in name and "softmax" in name else ""] * 3), strict=True)
        )
        for name, cells in paper.items()
        if name in rows
    }
    notes = [
        f"Stand-in: {STAND_INS.get(target.name, target.name)}. The models' order can be compared, the figures not.",
        "APP adjusts for unknown types by how many of them there are in training; so a model with an unknown type may "
        "come out better than the truth where most numerals are new.",
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
        folder: A corpus' results.
        estimate: `candidate`, the paper's; `mean` or `median` of the distribution.
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
        for name, cells in PAPER_ERRORS.get(target.name, {}).items()
        if name in rows and estimate == "candidate"
    }
    formats = {"RMSE": ".4g", "MAE": ".4g", "MdAE": ".2f", "MAPE": ".4g", "MdAPE": ".2f"}
    title = f"Number line by the {'best candidate' if estimate == 'candidate' else estimate}, {target.name}"
    notes = [f"Percentages leave out {skipped:,} numbers that are 0."]
    return table(rows, formats, best="min", paper=paper, corner="model", title=title, notes=notes)


def corpus_table(folder: str | Path) -> Table | None:
    """Table 1: what each split holds; None if it was not written."""
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
    """Table 4: for which numerals each member of a combination is chosen; None without such a model.

    Args:
        folder: A corpus' results.
        name: The combination.
        least: How often a numeral must occur.
        shown: How many numerals a member.
    """
    target = Path(folder)
    if not (target / f"{name}.npz").is_file():
        return None
    columns = read_predictions(target / f"{name}.npz")
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
    return table(rows, {"share": ".1f", "numerals": ""}, corner="member", title=f"Chosen by `{name}`, {target.name}",
                 notes=[f"Posterior share of a member in per cent, and the numerals ({least} or more in test) with the "
                        "largest."])  # fmt: skip


def write(folder: str | Path) -> list[Path]:
    """Writes `<corpus>.md` for each corpus below a folder of results, and `index.html` with all of them."""
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
    """The least numeral APP and MdAPE, by the best candidate and by the median, among the paper's seven models."""
    found = [_judged(result) for name, result in _results(Path(folder)) if name in SEVEN]
    return {key: min(one[key] for one in found) for key in found[0]} if found else {}


def beyond_table(folder: str | Path) -> Table | None:
    """What is not in the paper against the best of its seven models, each column's own; None without both.

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
