"""Texts for the benchmarks: Wikipedia passages of the shared data, or generated ones."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARED = Path(os.environ.get("NUMERATE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
WORDS = (
    "the", "of", "and", "in", "to", "a", "was", "is", "for", "as", "on", "with", "by", "at", "from", "that", "it",
    "his", "an", "were", "which", "are", "this", "be", "also", "had", "has", "their", "its", "new", "after", "who",
    "city", "film", "school", "team", "season", "national", "world", "state", "university", "album", "music", "war",
    "league", "game", "American", "series", "county", "member", "family", "company", "population", "district", ",",
    "released", "station", "river", "club", ".",
)  # fmt: skip


def generated_texts(count: int, seed: int = 0) -> Iterator[str]:
    """Texts similar to the passages: about 640 characters with 5 or 6 numerals, mostly years, dates and counts."""
    rng = random.Random(seed)
    draw, digits = rng.choice, rng.randrange
    forms: list[Callable[[], str]] = [
        *[lambda: f"in {digits(1750, 2024)}"] * 8,
        *[lambda: f"on {digits(1, 29)} {draw(('May', 'June', 'October'))} {digits(1750, 2024)}"] * 3,
        *[lambda: f"{digits(1, 200)}"] * 4,
        lambda: f"{digits(1, 1000)},{digits(1000):03}",
        lambda: f"{digits(1, 100)}.{digits(10)} {draw(('km', 'm', 'kg', '%'))}",
        lambda: f"the {digits(4, 20)}th",
        lambda: f"$ {digits(1, 100)} {draw(('million', 'billion'))}",
        lambda: f"{digits(5)}-{digits(5)}",
    ]
    for _ in range(count):
        pieces = [draw(forms)() if rng.random() < 0.038 else draw(WORDS) for _ in range(digits(40, 190))]
        yield " ".join(pieces)


def passages(count: int) -> tuple[list[str], str]:
    """Evenly spaced passages of the shared data, or generated texts if there are none; and their origin."""
    path = SHARED / "data" / "wiki" / "passages.jsonl.gz"
    if not path.is_file():
        return list(generated_texts(count)), "generated"
    with gzip.open(path) as stream:
        lines = stream.readlines()
    return [json.loads(line)["text"] for line in lines[:: max(1, len(lines) // count)][:count]], "shared/data/wiki"
