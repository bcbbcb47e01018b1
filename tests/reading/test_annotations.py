"""The reader against sentences annotated by hand before it was written; see tests/reading/annotations."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

import numerate

FOLDER = Path(__file__).parent / "annotations"
BARS = {"precision": 0.97, "recall": 0.97, "values": 0.97, "kinds": 0.90}


def load_stretches(shared, part):
    wanted = {}
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            stretch = json.loads(line)
            if part is None or stretch["part"] == part:
                wanted.setdefault(stretch["file"], {}).setdefault(stretch["row"], []).append(stretch)
    for file, rows in wanted.items():
        with gzip.open(shared / "data" / file, "rt", encoding="utf-8") as lines:
            for row, line in enumerate(lines):
                for stretch in rows.get(row, ()):
                    yield json.loads(line)[stretch["field"]], stretch


def compare(shared, part, report=None):
    """Counts of agreement between the reader and the annotations of one part."""
    count = Counter()
    for text, stretch in load_stretches(shared, part):
        gold = {(n["start"], n["end"]): n for n in stretch["numerals"]}
        read = {(n.start, n.end): n for n in numerate.find(text) if stretch["begin"] <= n.start < stretch["end"]}
        count["gold"] += len(gold)
        count["read"] += len(read)
        for span in gold.keys() | read.keys():
            if span not in gold or span not in read:
                if report is not None:
                    report("span", text, span, gold.get(span), read.get(span))
                continue
            g, n = gold[span], read[span]
            count["spans"] += 1
            for name, same in (
                ("values", n.value == pytest.approx(g["value"], rel=1e-12, abs=0)),
                ("kinds", n.kind == g["kind"]),
                ("units", n.unit == g["unit"]),
            ):
                count[name] += same
                if not same and report is not None:
                    report(name, text, span, g, n)
    return count


def figures(count):
    return {
        "precision": count["spans"] / count["read"],
        "recall": count["spans"] / count["gold"],
        "values": count["values"] / count["gold"],
        "kinds": count["kinds"] / count["gold"],
        "units": count["units"] / count["gold"],
    }


@pytest.mark.shared
@pytest.mark.parametrize("part", ["tune", "held", None])
def test_reader_agrees_with_annotations(shared, part):
    count = compare(shared, part)
    result = figures(count)
    assert count["gold"] >= 300
    assert {name: result[name] >= bar for name, bar in BARS.items()} == dict.fromkeys(BARS, True), result


if __name__ == "__main__":  # prints every disagreement of one part: `python tests/reading/test_annotations.py tune`
    import sys

    def show(what, text, span, gold, read):
        around = (
            text[max(0, span[0] - 40) : span[0]] + "[[" + text[span[0] : span[1]] + "]]" + text[span[1] : span[1] + 30]
        )
        g = gold and (gold["value"], gold["kind"], gold["unit"])
        r = read and (read.text, read.value, read.kind, read.unit)
        print(f"{what:6} {around!r}\n       gold {g}\n       read {r}")

    part = sys.argv[1] if len(sys.argv) > 1 else "tune"
    print(figures(compare(Path(__file__).parents[3] / "shared", part, show if part == "tune" else None)))
