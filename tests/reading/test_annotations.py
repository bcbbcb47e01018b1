"""The `standard` reader against texts annotated by hand before it was tuned; see tests/reading/annotations."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from annotated_texts import OLDER, REGISTERS, load_stretches

import numerate

MINIMUM = {
    OLDER: {"precision": 0.97, "recall": 0.97, "values": 0.97, "kinds": 0.90},
    REGISTERS: {"values": 0.995, "units": 0.98, "kinds": 0.97, "negative cells": 0.99},
}


def read(text, stretch):
    options = {"cell": True} if stretch.get("cell") and READS_CELLS else {}
    return [n for n in numerate.find(text, **options) if stretch["begin"] <= n.start < stretch["end"]]


def _reads_cells():
    try:
        return numerate.find("(5)", cell=True)[0].value == -5
    except (TypeError, ValueError):
        return False


READS_CELLS = _reads_cells()


def compare(shared, names, report=None):
    """Counts of agreement between reader and annotations for each part: `tune`, `held`."""
    counts = {"tune": Counter(), "held": Counter()}
    for text, stretch in load_stretches(shared, names):
        count = counts[stretch["part"]]
        gold = {(n["start"], n["end"]): n for n in stretch["numerals"]}
        found = {(n.start, n.end): n for n in read(text, stretch)}
        count["gold"] += len(gold)
        count["read"] += len(found)
        for span in gold.keys() | found.keys():
            g, n = gold.get(span), found.get(span)
            if g is None or n is None:
                same = {"spans": False}
            else:
                value = n.value == pytest.approx(g["value"], rel=1e-12, abs=0)
                same = {"spans": True, "values": value, "kinds": n.kind == g["kind"], "units": n.unit == g["unit"]}
            count.update({name: int(equal) for name, equal in same.items()})
            if g is not None and stretch.get("cell") and g["value"] < 0:
                count.update({"negative": 1, "negative cells": int(same.get("values", False))})
            if report is not None and stretch["part"] == "tune" and not all(same.values()):
                report(same, text, span, g, n)
    return counts


def figures(count):
    shares = {name: count[name] / count["gold"] for name in ("values", "kinds", "units")}
    if count["negative"]:
        shares["negative cells"] = count["negative cells"] / count["negative"]
    return {"precision": count["spans"] / count["read"], "recall": count["spans"] / count["gold"], **shares}


@pytest.mark.shared
@pytest.mark.parametrize("names", [OLDER, REGISTERS], ids=["older", "registers"])
def test_reader_agrees_with_annotations(shared, names):
    counts = compare(shared, names)
    parts = {"held": counts["held"]}
    if names == OLDER:
        parts |= {"tune": counts["tune"], "all": counts["tune"] + counts["held"]}
    for part, count in parts.items():
        result = figures(count)
        print(part, result)
        assert count["gold"] >= 300, part
        assert {name: figure for name, figure in result.items() if figure < MINIMUM[names].get(name, 0)} == {}, part


if __name__ == "__main__":  # prints the disagreements of the part `tune`; the part `held` stays unseen

    def show(same, text, span, gold, read):
        before, after = text[max(0, span[0] - 40) : span[0]], text[span[1] : span[1] + 30]
        print(f"{same}\n  {f'{before}[[{text[slice(*span)]}]]{after}'!r}\n  gold {gold}\n  read {read}")

    for names in (tuple(sys.argv[1:]),) if sys.argv[1:] else (OLDER, REGISTERS):
        print(*names, figures(compare(Path(__file__).parents[3] / "shared", names, show)["tune"]))
