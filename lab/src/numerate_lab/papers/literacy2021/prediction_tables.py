"""The tables of Thawani et al. 2021 and of the floating-point paper, and masked numbers, as grids."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import read_yaml
from numerate.modeling.artefact import BASE_FOLDER
from numerate.modeling.attaching import load_recipe
from numerate.registry import UnknownNameError, heads, near_names
from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, LiteracyConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "COLUMNS",
    "SCALES",
    "TABLES",
    "about",
    "encoder_of",
    "encoders_of",
    "grids_for",
    "load_tables",
    "paper_of",
    "parts_of",
]

COLUMNS = {"PPL": ".2f", "H@1": ".2f", "H@5": ".2f", "H@20": ".2f", "H@100": ".2f"}
"""Of the papers' tables; their perplexity is 2 to the power of nats."""


def load_tables() -> dict[str, Any]:
    """The tables' settings, as shipped."""
    text = (resources.files("numerate_lab.papers.literacy2021") / "tables.yaml").read_text(encoding="utf-8")
    return read_yaml(text, "tables.yaml")


_ALL = load_tables()
TABLES: tuple[str, ...] = tuple(_ALL["tables"])
SCALES: tuple[str, ...] = tuple(_ALL["scales"])


def about(table: str) -> str:
    """What a table is, in a line."""
    return _ALL["tables"][table]["about"]


def parts_of(table: str) -> tuple[str, ...]:
    """The groups of words that a table has: `all`, `unit`, `other`, and `plain` for texts without numbers."""
    return tuple(_ALL["tables"][table].get("parts", ()))


def encoder_of(name: str) -> dict[str, Any]:
    """What of a cell's config an encoder is; behind a `+` stands the head that predicts numbers.

    Example:
        >>> encoder_of("log-fourier+mixture")
        {'recipe': 'exponent', 'parts': {'embedder': {'kind': 'log-fourier'}, 'head': {'kind': 'mixture'}}}
    """
    first, plus, head = name.partition("+")
    if first not in _ALL["encoders"]:
        raise UnknownNameError(f"unknown encoder {first!r}: {near_names(first, list(_ALL['encoders']))}")
    found = dict(_ALL["encoders"][first])
    if plus:
        if head not in heads and head not in _ALL["heads"]:
            raise UnknownNameError(f"unknown head {head!r}: {near_names(head, [*heads.names(), *_ALL['heads']])}")
        found["parts"] = dict(found.get("parts", {})) | {"head": _ALL["heads"].get(head, {"kind": head})}
    return found


def encoders_of(table: str) -> dict[str, dict[str, Any]]:
    """The encoders of a table, by name."""
    return {name: encoder_of(name) for name in _ALL["tables"][table]["encoders"]}


def grids_for(
    table: str,
    scale: str,
    *,
    data: str | None,
    models: Sequence[str],
    corpora: Sequence[str] = (),
    encoders: Sequence[str] = (),
    train: str = "head",
    seeds: int | None = None,
    plain: str | None = None,
    save: bool = False,
) -> list[LiteracyGrid]:
    """The grids behind a table: one for each corpus, model and protocol.

    Args:
        table: One of `TABLES`.
        scale: One of `SCALES`.
        data: The folder that has a folder for each corpus; not needed where corpora are files or Hub names.
        corpora: Folders in `data`, or files, folders and Hub names (`usc-isi/WikiConvert`); by default those that stand
            in for the papers'.
        models: Folders or Hub names of masked language models; a folder of `numerate train masked-lm`, too.
        encoders: Instead of the table's.
        train: `head` for a frozen encoder, `all` for all weights.
        seeds: Instead of the scale's.
        plain: A file of texts, of which those without numbers are measured; by default the `wiki` passages in `data`,
            where they are there and the table wants them.
        save: Keep the models of first seeds.
    """
    for what, given, known in (("table", table, TABLES), ("scale", scale, SCALES), ("train", train, ("head", "all"))):
        if given not in known:
            raise ValueError(f"unknown {what} {given!r}: {near_names(given, list(known))}")
    settings, size = _ALL["tables"][table], dict(_ALL["scales"][scale])
    rates = size["rates"] if train == "head" else size.get("backbone_rates", size["rates"])
    # Another choice of rates is another table, in a folder of its own.
    suffix = f"-by-{size['chosen_by']}" if "chosen_by" in size else ""
    chosen = {name: encoder_of(name) for name in encoders} or encoders_of(table)
    asks = settings.get("predict", "words")
    for name, own in chosen.items():
        if asks == "numbers" and own.get("predict") is None and not _has_head(own):
            raise ValueError(f"encoder {name!r} has no head for numbers: {name}+mixture, or another behind the +")
    found = []
    for corpus in corpora or _ALL["corpora"]:
        source = _source(data, corpus)
        for model in models:
            for protocol in settings.get("protocols", ("clean",)):
                shared = size["cell"] | (size.get("all_cell", {}) if train == "all" else {})
                shared |= settings.get("cell", {}).get(size.get("like", scale), {})
                shared |= {"train": train, "predict": asks}
                shared |= _ALL["protocols"][protocol] | {"source": source, "model": _bare(model)}
                if shared["predict"] == "words" and protocol == "clean":
                    shared |= _plain(data, plain)
                else:
                    shared |= {"shift": None}
                setting = f"{_short(corpus)}-{_short(model)}-{train}{suffix}"
                name = setting if protocol == "clean" else f"{setting}-{protocol}"
                name += "" if shared["predict"] == "words" else f"-{shared['predict']}"
                options = {
                    "rates": tuple(rates),
                    "seeds": size["seeds"] if seeds is None else seeds,
                    "name": name,
                    "setting": setting,
                    "save": save,
                }
                options |= {"resamples": size["resamples"], "chosen_by": size.get("chosen_by", "all")}
                found.append(LiteracyGrid(encoders=chosen, cell=LiteracyConfig.from_dict(shared), **options))
    if PLAIN in parts_of(table) and any(grid.cell.plain is None for grid in found):
        raise ValueError(f"{table} is of texts without numbers: name a file of them, --plain FILE")
    names = [grid.name for grid in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two models or corpora would share the folder {twice[0]!r}: rename one of theirs")
    return found


def paper_of(table: str, corpus: str, part: str) -> dict[str, dict[str, float | None]]:
    """The paper's figures by encoder and column; none where they are not in our copy.

    Args:
        table: One of `TABLES`.
        corpus: Its folder's, file's or Hub name; Wiki-Convert and Numeracy-600K have their stand-ins' figures.
        part: One of `parts_of`.

    Example:
        >>> paper_of("literacy-table3", "usc-isi/WikiConvert", "all")["exponent"]["H@1"]
        66.15
    """
    letters = _plainly(_short(corpus))
    known = next((ours for ours, theirs in _ALL["corpora"].items() if letters.startswith((ours, _plainly(theirs)))), "")
    rows = _ALL["tables"][table].get("paper", {}).get(known, {}).get(part, {})
    return {name: dict(zip(COLUMNS, row, strict=True)) for name, row in rows.items()}


def _has_head(encoder: dict[str, Any]) -> bool:
    return "head" in encoder.get("parts", {}) or load_recipe(encoder["recipe"]).head is not None


def _source(data: str | None, corpus: str) -> str:
    """Where a corpus is: a folder in `data`, or else a file, a folder or a Hub name."""
    inside = None if data is None else Path(data) / corpus
    if inside is not None and inside.is_dir():
        return str(inside)
    if Path(corpus).exists() or (corpus.count("/") == 1 and not corpus.startswith((".", "/", "~"))):
        return corpus
    known = [] if data is None or not Path(data).is_dir() else sorted(each.name for each in Path(data).iterdir())
    where = f"{data} has {', '.join(known)}" if known else "give --data DIR, a file, or a Hub name"
    raise ValueError(f"{corpus if inside is None else inside}: no such folder; {where}")


def _short(place: str) -> str:
    """The last part of a path or Hub name, without what a file's name ends in."""
    return Path(place).name.partition(".")[0] or "here"


def _plainly(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _bare(model: str) -> str:
    """The backbone's own folder, where a model of ours was saved with it."""
    inside = Path(model) / BASE_FOLDER
    return str(inside) if (inside / "config.json").is_file() else model


def _plain(data: str | None, plain: str | None) -> dict[str, Any]:
    """Texts without numbers: a file that is named, or the test passages beside the corpora."""
    if plain is not None:
        return {"plain": plain}
    passages = Path(data or ".") / "wiki" / "passages.jsonl.gz"
    return {"plain": str(passages), "plain_split": "split"} if passages.is_file() else {}
