"""The hand-annotated texts: offsets are in `tests/reading/annotations`, the texts themselves in the shared data."""

import gzip
import json
from pathlib import Path

FOLDER = Path(__file__).parent / "reading" / "annotations"
OLDER, REGISTERS = ("market_wiki", "scientific"), ("registers",)


def load_stretches(shared, names, folder=FOLDER):
    """Yields each text of the files `names` with the annotation of one stretch of it."""
    wanted = {}
    for name in names:
        for stretch in map(json.loads, (folder / f"{name}.jsonl").read_text("utf-8").splitlines()):
            wanted.setdefault(stretch["file"], {}).setdefault(stretch["row"], []).append(stretch)
    for file, rows in wanted.items():
        with gzip.open(shared / "data" / file, "rt", encoding="utf-8") as stream:
            records = enumerate(json.load(stream) if file.endswith(".json.gz") else stream)
            for row, record in records:
                for stretch in rows.get(row, ()):
                    yield _text(json.loads(record) if isinstance(record, str) else record, stretch["field"]), stretch


def _text(record, field):
    """The text at a path such as `body`, or `table/table/3/2` for a cell."""
    for key in field.split("/"):
        record = record[int(key)] if isinstance(record, list) else record[key]
    return record
