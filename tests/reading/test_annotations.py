"""The `standard` reader against texts annotated by hand before it was written; see tests/reading/annotations."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

import numerate

FOLDER = Path(__file__).parent / "annotations"
MINIMUM = {"precision": 0.97, "recall": 0.97, "values": 0.97, "kinds": 0.90}


def load_stretches(shared):
    """Yields each annotated text with its annotation."""
    wanted = {}
    for path in sorted(FOLDER.glob("*.jsonl")):
        for stretch in map(json.loads, path.read_text("utf-8").splitlines()):
            wanted.setdefault(stretch["file"], {}).setdefault(stretch["row"], []).append(stretch)
    for file, rows in wanted.items():
        with gzip.open(shared / "data" / file, "rt", encoding="utf-8") as lines:
            for row, line in enumerate(lines):
                for stretch in rows.get(row, ()):
                    yield json.loads(line)[stretch["field"]], stretch


def compare(shared, report=None):
    """Counts of agreement between reader and annotations for each part: `tune`, `held`."""
    counts = {"tune": Counter(), "held": Counter()}
    for text, stretch in load_stretches(shared):
        count = counts[stretch["part"]]
        gold = {(n["start"], n["end"]): n for n in stretch["numerals"]}
        read = {(n.start, n.end): n for n in numerate.find(text) if stretch["begin"] <= n.start < stretch["end"]}
        count["gold"] += len(gold)
        count["read"] += len(read)
        for span in gold.keys() | read.keys():
            g, n = gold.get(span), read.get(span)
            if g is None or n is None:
                same = {"spans": False}
            else:
                value = n.value == pytest.approx(g["value"], rel=1e-12, abs=0)
                same = {"spans": True, "values": value, "kinds": n.kind == g["kind"], "units": n.unit == g["unit"]}
            count.update({name: int(equal) for name, equal in same.items()})
            if report is not None and stretch["part"] == "tune" and not all(same.values()):
                report(same, text, span, g, n)
    return counts


def figures(count):
    shares = {name: count[name] / count["gold"] for name in ("values", "kinds", "units")}
    return {"precision": count["spans"] / count["read"], "recall": count["spans"] / count["gold"], **shares}


@pytest.mark.shared
def test_reader_agrees_with_annotations(shared):
    counts = compare(shared)
    for part, count in (*counts.items(), ("all", counts["tune"] + counts["held"])):
        result = figures(count)
        assert count["gold"] >= 300, part
        assert {name: figure for name, figure in result.items() if figure < MINIMUM.get(name, 0)} == {}, part


if __name__ == "__main__":  # prints the disagreements of the part `tune`; the part `held` stays unseen

    def show(same, text, span, gold, read):
        before, after = text[max(0, span[0] - 40) : span[0]], text[span[1] : span[1] + 30]
        print(f"{same}\n  {f'{before}[[{text[slice(*span)]}]]{after}'!r}\n  gold {gold}\n  read {read}")

    for part, count in compare(Path(__file__).parents[3] / "shared", show).items():
        print(part, figures(count))
