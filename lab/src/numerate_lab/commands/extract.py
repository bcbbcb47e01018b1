"""`numerate extract wiki-convert`: makes a data set of numbers and units from a MediaWiki dump."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput
from numerate.files import check_writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["extract_wiki_convert", "left_out_line"]

SHARES = (("dev", 0.1), ("test", 0.2))
"""Cumulative shares of the splits by page hash; the rest is `train`. Shares are 8 : 1 : 1, as in Wiki-Convert."""
SHORTEST, LONGEST = 16, 299
"""Characters of a sentence; wide ones such as Chinese count twice."""


def extract_wiki_convert(
    dump: str, output: str, *, names: Sequence[str] = (), most_units: int = 30, every: bool = False,
    units: str | None = None, decimal: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Writes `train`, `dev` and `test.jsonl.gz` in Wiki-Convert's layout, split by article.

    The dump is streamed; rows are kept in a temporary file until the most frequent units are known.

    Args:
        dump: A MediaWiki XML dump, compressed by bzip2 or gzip or plain.
        output: A new or empty folder.
        names: More names of the template.
        most_units: Keep sentences with one of this many most frequent units; 0 for all.
        every: Include sentences with several conversions or other numbers.
        units: `name` for English names, `code` for codes of the template; by default `name` for English dumps only.
        decimal: `point` or `comma`, the decimal separator; by default that of the dump's language.

    Returns:
        Number of `pages`, `templates` and `sentences`, rows by split, `left_out` sentences by reason, rows by `units`.

    Raises:
        BadInput: The dump is unreadable or has no sentences, the folder is not empty, or an option is invalid.
    """
    from numerate.training.sources import SourceError
    from numerate_lab.tasks.wikipedia.wiki_convert import pages_of_dump, plain_text, sentences_of_page
    from numerate_lab.tasks.wikipedia.wiki_template import NAMES, Wording

    folder = Path(output)
    _check(folder, names, most_units, units, decimal)
    known = (*NAMES, *(name.strip() for name in names))
    frequent: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    seen = {"pages": 0, "templates": 0, "sentences": 0}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        try:
            for page in pages_of_dump(dump):
                text, conversions = plain_text(page.text, known, Wording.of(page.language, units, decimal))
                seen["pages"] += 1
                seen["templates"] += len(conversions)
                for rows, why in sentences_of_page(page.id, text, conversions, single=not every):
                    seen["sentences"] += 1
                    if rows and not SHORTEST <= _width(rows[0]["comment"]) <= LONGEST:
                        why = "too short or too long"
                    if why:
                        left_out[why] += 1
                        continue
                    frequent.update(row["unit"] for row in rows)
                    waiting.write(json.dumps([page.id, rows], ensure_ascii=False) + "\n")
        except SourceError as error:
            raise BadInput(str(error)) from None
        if not frequent:
            raise BadInput(f"{dump}: {_nothing(seen, left_out)}")
        kept = {unit for unit, _ in frequent.most_common(most_units or None)}
        counts, left_out["a rarer unit; see --most-units"] = _divide(waiting, folder, kept)
    reasons = {why: count for why, count in left_out.most_common() if count}
    units_kept = {unit: count for unit, count in frequent.most_common() if unit in kept}
    return {**seen, **counts, "left_out": reasons, "units": units_kept}


def left_out_line(left_out: Mapping[str, int]) -> str:
    """Number of sentences left out, by reason, in one line.

    Example:
        >>> left_out_line({"other numbers; see --every": 1200, "too short or too long": 3})
        '1,203 sentences left out: 1,200 (other numbers; see --every), 3 (too short or too long)'
        >>> left_out_line({})
        'no sentence left out'
    """
    reasons = ", ".join(f"{count:,} ({why})" for why, count in left_out.items())
    return f"{_many(sum(left_out.values()), 'sentence')} left out: {reasons}" if left_out else "no sentence left out"


def _check(folder: Path, names: Sequence[str], most_units: int, units: str | None, decimal: str | None) -> None:
    from numerate_lab.tasks.wikipedia.wiki_template import DECIMALS, UNITS

    for name in names:
        if not name.strip() or set(name) & set("{}|"):
            raise BadInput(f"--name must be a template's name such as convert, got {name!r}")
    for option, value, known in (("--units", units, UNITS), ("--decimal", decimal, DECIMALS)):
        if value is not None and value not in known:
            raise BadInput(f"{option} must be {' or '.join(known)}, got {value!r}")
    if most_units < 0:
        raise BadInput(f"--most-units must not be negative, got {most_units}")
    check_writable(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder}: not empty: give a new folder")


def _nothing(seen: Mapping[str, int], left_out: Counter[str]) -> str:
    """Why a dump has no sentences."""
    if not seen["templates"]:
        return f"none of {seen['pages']} articles has a sentence with {{{{convert|...}}}}; see --name"
    found = f"nothing to write of {_many(seen['pages'], 'article')} with {_many(seen['templates'], 'template')}"
    if not seen["sentences"]:
        return f"{found}: all of them are in tables, boxes, lists or headings, none in a sentence"
    reasons = left_out_line(dict(left_out.most_common()))
    return f"{found} and {_many(seen['sentences'], 'sentence')} with them: {reasons}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _width(text: str) -> int:
    """Number of characters, wide ones counted twice: Chinese sentences have about half as many as English ones."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text if char > "\u10ff")


def _divide(waiting: Any, folder: Path, units: set[str]) -> tuple[dict[str, int], int]:
    """Writes rows with these units to the files of their splits; returns rows by split and sentences without them."""
    folder.mkdir(parents=True, exist_ok=True)
    counts, rare = {"train": 0, "dev": 0, "test": 0}, 0
    # Under other names until all are whole: a full disk leaves no half-written file.
    parts = {split: folder / f".{split}.jsonl.gz.part" for split in counts}
    with contextlib.ExitStack() as stack:
        for part in parts.values():
            stack.callback(part.unlink, missing_ok=True)
        files = {split: stack.enter_context(gzip.open(part, "wt", encoding="utf-8")) for split, part in parts.items()}
        waiting.seek(0)
        for line in waiting:
            page, rows = json.loads(line)
            kept = [row for row in rows if row["unit"] in units]
            share = int.from_bytes(hashlib.blake2b(page.encode(), digest_size=8).digest(), "big") / 2**64
            split = next((split for split, end in SHARES if share < end), "train")
            rare += not kept
            counts[split] += len(kept)
            files[split].writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        for split, file in files.items():
            file.close()
            parts[split].replace(folder / f"{split}.jsonl.gz")
    return counts, rare
