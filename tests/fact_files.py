"""Small made-up tables and statements in TabFact's two layouts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"train": 12, "val": 8, "test": 3}
NAMES = ["fox", "elk", "owl", "cat"]


def tables() -> dict[str, dict[str, Any]]:
    """Tables by id, each with its split, channel and two statements: a true one and a false one."""
    found = {}
    for split, count in SIZES.items():
        for number in range(count):
            points = [str(17 * (number + row + 1) % 90 + 10) for row in range(4)]
            rows = [
                [name, point, f"({row + 3})", ""] for row, (name, point) in enumerate(zip(NAMES, points, strict=True))
            ]
            best = NAMES[max(range(4), key=lambda row: int(points[row]))]
            found[f"{split}-{number}.html.csv"] = {
                "split": split,
                "channel": "simple" if number % 2 else "complex",
                "caption": f"cup of {number + 1990}",
                "header": ["name", "points", "change", "note"],
                "rows": rows,
                "statements": [f"the {NAMES[0]} has {points[0]} points", f"the {best} has fewer points than 1"],
                "labels": [1, 0],
            }
    return found


def write_lines(folder: Path) -> str:
    """The layout of JSON lines."""
    lines: dict[str, list[dict[str, Any]]] = {"tables": [], "train_partial": [], "val": []}
    for name, table in tables().items():
        lines["tables"].append({"table_id": name} | {key: table[key] for key in ("caption", "header", "rows")})
        file = {"train": "train_partial"}.get(table["split"], table["split"])
        for text, label in zip(table["statements"], table["labels"], strict=True):
            row = {"table_id": name, "statement": text, "label": label, "channel": table["channel"]}
            lines.setdefault(file, []).append(row)
    for name, rows in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(folder)


def write_official(folder: Path, tokenised: bool = True) -> str:
    """The layout of the official repository, with tokenised statements or those as they were collected."""
    for name in ("data/all_csv", "tokenized_data", "collected_data"):
        (folder / name).mkdir(parents=True)
    made = tables()
    for name, table in made.items():
        lines = ["#".join(row) for row in [table["header"], *table["rows"]]]
        (folder / "data" / "all_csv" / name).write_text("\n".join(lines) + "\n", "utf-8")
    entries = {name: [table["statements"], table["labels"], table["caption"]] for name, table in made.items()}
    for split in SIZES:
        own = {name: entry for name, entry in entries.items() if made[name]["split"] == split}
        (folder / "data" / f"{split}_id.json").write_text(json.dumps(list(own)), "utf-8")
        if tokenised:
            linked = {name: [[text.replace("fox", "#fox;1,0#") for text in e[0]], *e[1:]] for name, e in own.items()}
            (folder / "tokenized_data" / f"{split}_examples.json").write_text(json.dumps(linked), "utf-8")
    for channel, file in (("simple", "r1"), ("complex", "r2")):
        own = {name: entry for name, entry in entries.items() if made[name]["channel"] == channel}
        (folder / "collected_data" / f"{file}_training_all.json").write_text(json.dumps(own), "utf-8")
    return str(folder)
