"""Alarms of the rules of `numerate check` on real texts, to be read by a person, and their rate.

    python benchmarks/consistency_alarms.py [--split test] [--sentences 20000] [--show 30] [--findings alarms.jsonl]

Wikipedia passages, newswire articles, paragraphs of annual reports and of scientific papers of the shared data. Only
sentences with a number count. The texts are right but for a few mistakes of their authors, so that at most one alarm in
500 sentences is asked for. `--findings` writes all alarms, to be compared with those of other rules.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from texts import SHARED

from numerate.apps.consistency.checker import ConsistencyChecker, sentences_of
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ASKED = 500
PARTS = {"wiki": 0.5, "market": 0.25, "tatqa": 0.1, "scientific": 0.15}
"""Corpora, and the share of the sentences that each gives."""


def real_texts(name: str, split: str) -> Iterator[str]:
    """The texts of one corpus; those of annual reports are few and serve both splits."""
    folder = SHARED / "data" / name
    if name == "tatqa":
        with gzip.open(folder / "dev.json.gz", "rt", encoding="utf-8") as file:
            for context in json.load(file):
                yield from (paragraph["text"] for paragraph in context["paragraphs"])
        return
    path = {"wiki": "passages", "market": "articles", "scientific": split}[name]
    with gzip.open(folder / f"{path}.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row.get("split", split) == split:
                yield row["body"] if name == "market" else row["text"]


def alarms_of(name: str, split: str, most: int) -> tuple[int, list[dict[str, Any]]]:
    """Checked sentences (about `most`, whole texts), and all findings with their sentences."""
    checker, sentences, found = ConsistencyChecker(), 0, []
    for text in real_texts(name, split):
        document = Document(kind="text", text=text)
        sentences += sum(1 for _ in sentences_of(document))
        for each in checker.check(document):
            passage = next(text[a:b] for a, b in document.sentences if each.span and a <= each.span[0] < b)
            row = {"corpus": name, "rule": each.rule, "written": each.written, "message": each.message}
            found.append(row | {"passage": " ".join(passage.split())})
        if sentences >= most:
            break
    return sentences, found


def main(arguments: Sequence[str] | None = None) -> None:
    """Checks the corpora, and prints the rate of alarms and some of them."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"), help="part of the shared data")
    parser.add_argument("--sentences", type=int, default=20_000, help="number of sentences of all corpora")
    parser.add_argument("--show", type=int, default=30, help="number of alarms to print, drawn at random")
    parser.add_argument("--findings", type=Path, help="file for all alarms, one JSON object a line")
    options = parser.parse_args(arguments)
    if options.sentences < 1:
        parser.error(f"--sentences must be at least 1, got {options.sentences}")
    figures: dict[str, dict[str, int]] = {}
    found: list[dict[str, Any]] = []
    for name, share in PARTS.items():
        sentences, some = alarms_of(name, options.split, round(share * options.sentences))
        figures[name] = {"sentences": sentences, "alarms": len(some)}
        found += some
        print(f"{name:10} {sentences:7,} sentences  {len(some):4} alarms")
    sentences = sum(each["sentences"] for each in figures.values())
    print(f"{'all':10} {sentences:7,} sentences  {len(found):4} alarms, {1000 * len(found) / sentences:.2f} in 1,000")
    print(f"asked for: at most {1000 / ASKED:.0f} in 1,000")
    if options.findings:
        options.findings.write_text("".join(json.dumps(each) + "\n" for each in found), "utf-8")
    shown = found if len(found) <= options.show else random.Random(0).sample(found, options.show)
    for each in shown:
        print(f"\n{each['corpus']} {each['rule']}: {each['message']}\n    {each['passage']}")
    harness.write(options, figures)


if __name__ == "__main__":
    main()
