"""Small data and a tiny masked language model on disk, for the tasks of masked words and masked numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tiny_models import new_backbone, tokenizer_of

from numerate.apps.synthetic_facts import fact_texts

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"train": 40, "dev": 6, "test": 12}


def rows(split: str, count: int) -> list[dict[str, Any]]:
    """Rows in Wiki-Convert's layout; the first number of each text is annotated."""
    made = []
    for index, example in enumerate(fact_texts(split, count)):
        first = example.numbers[0]
        place = {"offset": first.start, "length": first.end - first.start}
        more = {"number": repr(first.value), "unit": first.unit}
        made.append({"id": f"{split}-{index}", "comment": example.text, **place, **more})
    return made


def write_data(folder: Path) -> str:
    """Three splits as JSON lines."""
    for split, count in SIZES.items():
        lines = [json.dumps(row, ensure_ascii=False) for row in rows(split, count)]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return str(folder)


def write_model(folder: Path, name: str = "bert") -> str:
    """A tiny backbone with its tokenizer."""
    new_backbone(name).save_pretrained(folder)
    tokenizer_of(name).save_pretrained(folder)
    return str(folder)
