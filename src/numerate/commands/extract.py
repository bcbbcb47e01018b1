"""`numerate extract wiki-convert`: a data set of numbers and units out of a MediaWiki dump."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.commands.source import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["extract_wiki_convert"]

SHARES = (("dev", 0.1), ("test", 0.2))
"""Up to where in [0, 1) a page's hash puts it; all else is `train`. Wiki-Convert's own shares are 8 : 1 : 1."""


def extract_wiki_convert(
    dump: str,
    output: str,
    *,
    names: Sequence[str] = (),
    most_units: int = 30,
    every: bool = False,
    lengths: tuple[int, int] = (15, 300),
) -> dict[str, Any]:
    """Writes `train`, `dev` and `test.jsonl.gz` in Wiki-Convert's layout, split by article.

    The dump is streamed; rows wait in a temporary file until the most frequent units are known.

    Args:
        dump: A MediaWiki XML dump, packed with bzip2 or gzip or plain.
        output: A folder that is not there yet, or is empty.
        names: What the template is called, beside the names that are known.
        most_units: Only sentences with one of so many most frequent units; 0 for all.
        every: Also sentences with several conversions or other numbers.
        lengths: Only sentences of more characters than the first and fewer than the second.

    Returns:
        `pages`, rows by split, and how often each unit stands in them.

    Raises:
        BadInput: The dump cannot be read, the folder holds something, or `most_units` is negative.
    """
    from numerate.tasks.wiki_convert import NAMES, pages_of_dump, rows_of_page
    from numerate.training.sources import SourceError

    folder = Path(output)
    if most_units < 0:
        raise BadInput(f"--most-units must be 0 or more, however: {most_units}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{output}: holds something already; give a new folder")
    units: Counter[str] = Counter()
    pages = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        try:
            for page, _, text in pages_of_dump(dump):
                pages += 1
                for row in rows_of_page(page, text, (*NAMES, *names), single=not every):
                    if lengths[0] < len(row["comment"]) < lengths[1]:
                        units[row["unit"]] += 1
                        waiting.write(json.dumps([page, row], ensure_ascii=False) + "\n")
        except SourceError as error:
            raise BadInput(str(error)) from None
        if not units:
            raise BadInput(f"{dump}: none of {pages} articles has a sentence with {{{{convert|...}}}}; see --name")
        kept = {unit for unit, _ in units.most_common(most_units or None)}
        counts = _divide(waiting, folder, kept)
    return {"pages": pages, **counts, "units": {unit: units[unit] for unit, _ in units.most_common() if unit in kept}}


def _divide(waiting: Any, folder: Path, units: set[str]) -> dict[str, int]:
    """Writes the rows with these units into the files of their splits."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = {"train": 0, "dev": 0, "test": 0}
    with contextlib.ExitStack() as stack:
        files = {
            split: stack.enter_context(gzip.open(folder / f"{split}.jsonl.gz", "wt", encoding="utf-8"))
            for split in counts
        }
        waiting.seek(0)
        for line in waiting:
            page, row = json.loads(line)
            if row["unit"] in units:
                split = _split(page)
                counts[split] += 1
                files[split].write(json.dumps(row, ensure_ascii=False) + "\n")
    return counts


def _split(page: str) -> str:
    digest = hashlib.blake2b(page.encode(), digest_size=8).digest()
    share = int.from_bytes(digest, "big") / 2**64
    return next((split for split, end in SHARES if share < end), "train")
