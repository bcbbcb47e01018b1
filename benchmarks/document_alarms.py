"""False alarms of whole documents, and slips found in them: each number by itself, and eased by the others.

    python benchmarks/document_alarms.py --model models/numerate-mini --data ../shared/data

Documents are passages of Wikipedia, articles on a stock market, paragraphs of annual reports and of scientific papers
(test parts; the model never saw the last three kinds). `numerate check` eases the p-values of a document whose numbers
look odd throughout (`numerate.apps.familiarity`). `reported` is the share of right numbers below the rate, `found` that
of slips, one at a time, in two numbers of each document. `one threshold` has no easing, but a lower rate for all
texts, which reports as many right numbers as the easing does. `check` is the call of users at 5 %, which also leaves
out codes and what the other numbers of a sentence confirm: findings in the right document by its numbers, and x10 slips
in one number of each document that are reported at their place.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
from mini_corpus import lines_of
from planted_slips import planted
from slip_cases import is_decimal
from slips import RATES

import numerate
from numerate.apps.documents import Document
from numerate.apps.familiarity import familiarity
from numerate.apps.plausible import PlausibilityChecker
from numerate.apps.shown_texts import units_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.plausible import Judgement
    from numerate.apps.shown_texts import Unit

KINDS = ("x10", "x1000", "exchanged", "first digit")
CORPORA_OF_DOCUMENTS = ("wiki", "market", "tatqa", "scientific")
FEWEST = 5
"""Numbers of a document; fewer tell next to nothing of each other."""


def documents(data: Path, name: str, split: str) -> Iterator[str]:
    """The texts of whole documents, in the order of the file."""
    if name == "tatqa":
        with gzip.open(data / "tatqa" / "dev.json.gz", "rt", encoding="utf-8") as file:
            contexts = json.load(file)
        half = len(contexts) // 2
        for each in contexts[:half] if split == "dev" else contexts[half:]:
            yield "\n\n".join(paragraph["text"] for paragraph in each["paragraphs"])
    elif name == "market":
        articles: dict[str, list[str]] = {}
        for each in lines_of(data / name / f"{split}.jsonl.gz"):
            articles.setdefault(each["id"].rpartition("-")[0], []).append(each["comment"])
        yield from ("\n".join(dict.fromkeys(lines)) for lines in articles.values())
    elif name == "wiki":
        yield from (each["text"] for each in lines_of(data / "wiki" / "passages.jsonl.gz") if each["split"] == split)
    else:
        papers: dict[str, list[str]] = {}
        for each in lines_of(data / name / f"{split}.jsonl.gz"):
            papers.setdefault(each["paper"], []).append(each["text"])
        yield from ("\n\n".join(parts) for parts in papers.values())


def alarms(
    checker: PlausibilityChecker, texts: Sequence[str], most: int, *, slips: int = 2, seed: int = 0
) -> dict[str, Any]:
    """Figures of at most `most` documents whose numbers are right, and of the same documents with one slip each."""
    draw = random.Random(seed)
    right: list[tuple[np.ndarray, np.ndarray]] = []
    wrong: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    findings, asked = 0, []
    for text in texts:
        units = list(units_of(Document(kind="text", text=text)))
        judged = [
            each
            for each in checker.judge([unit.text for unit in units])
            if units[each.row].keep[0] <= each.numeral.start < units[each.row].keep[1]
            and not checker.is_no_size(units[each.row].text, each)
        ]
        if len(judged) < FEWEST:
            continue
        if len(right) == most:
            break
        p = np.array([each.p for each in judged])
        right.append((p, p ** familiarity(p)))
        findings += len(checker.check(Document(kind="text", text=text)))
        decimal = [at for at, each in enumerate(judged) if is_decimal(each.numeral) and each.numeral.value]
        chosen = draw.sample(decimal, min(slips, len(decimal)))
        asked += [_is_reported(checker, text, units[judged[at].row], judged[at], draw) for at in chosen[:1]]
        for at in chosen:
            for kind in KINDS:
                found = _with_slip(checker, units[judged[at].row].text, judged[at], kind, draw)
                if found is not None:
                    others = p.copy()
                    others[at] = found
                    wrong[kind].append((found, float(found ** familiarity(others)[at])))
    alone, eased = (np.concatenate([each[way] for each in right]) for way in (0, 1))
    found = [each for each in asked if each is not None]
    figures: dict[str, Any] = {
        "documents": len(right), "numbers": len(alone), "rates": {},
        "check": {"reported": findings / len(alone), "x10 found": float(np.mean(found)), "slips": len(found)},
    }  # fmt: skip
    for rate in RATES:
        reported = float((eased <= rate).mean())
        lower = float(np.quantile(alone, reported))
        pairs = {kind: np.array(each).reshape(-1, 2) for kind, each in wrong.items()}
        figures["rates"][f"{rate:g}"] = {
            "reported": {"alone": float((alone <= rate).mean()), "eased": reported},
            "found": {
                kind: {
                    "slips": len(each),
                    "alone": float((each[:, 0] <= rate).mean()),
                    "eased": float((each[:, 1] <= rate).mean()),
                    "one threshold": float((each[:, 0] <= lower).mean()),
                }
                for kind, each in pairs.items()
            },
        }
    return figures


def _is_reported(
    checker: PlausibilityChecker, text: str, unit: Unit, judged: Judgement, draw: random.Random
) -> bool | None:
    """Whether `check` reports ten times a number at its place; None if the number cannot have this slip."""
    made = planted(unit.text, judged.numeral, "x10", checker.model.processor.reader, draw)
    if made is None or made[1] is None:
        return None
    changed = text[: unit.start] + made[0] + text[unit.start + len(unit.text) :]
    place = unit.start + made[1].start
    spans = [each.span for each in checker.check(Document(kind="text", text=changed)) if each.span is not None]
    return any(start <= place < end for start, end in spans)


def _with_slip(
    checker: PlausibilityChecker, text: str, judged: Judgement, kind: str, draw: random.Random
) -> float | None:
    """The p-value of a number with a slip; None if it cannot have it or is not read as a number then."""
    made = planted(text, judged.numeral, kind, checker.model.processor.reader, draw)
    if made is None or made[1] is None:
        return None
    start = made[1].start
    return next((each.p for each in checker.judge([made[0]]) if each.numeral.start == start), None)


def print_tables(result: dict[str, Any]) -> None:
    """Prints a Markdown table."""
    print("| documents | numbers | asked for | reported: alone | eased | " + " | ".join(
        f"{kind}: alone | eased | one threshold" for kind in KINDS) + " |")  # fmt: skip
    print("|---|---:|---:|---:|---:|" + "---:|" * 3 * len(KINDS))
    for name, figures in result.items():
        for rate, each in figures["rates"].items():
            cells = [f"{each['reported'][way]:.3f}" for way in ("alone", "eased")]
            cells += [
                f"{found[way]:.2f}" for found in each["found"].values() for way in ("alone", "eased", "one threshold")
            ]
            print(f"| {name}: {figures['documents']} | {figures['numbers']} | {rate} | " + " | ".join(cells) + " |")
    for name, figures in result.items():
        each = figures["check"]
        print(f"check, {name}: reported {each['reported']:.3f}, x10 found {each['x10 found']:.2f} of {each['slips']}")


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="folder or Hub id of a model with a sense of numbers")
    parser.add_argument("--data", default="../shared/data", help="folder of the data sets")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA_OF_DOCUMENTS), choices=CORPORA_OF_DOCUMENTS)
    parser.add_argument("--documents", type=int, default=120, help="most documents of each")
    parser.add_argument("--split", default="test", choices=("dev", "test"), help="dev to choose constants")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of documents, numbers and slips")
    options = parser.parse_args(given)
    checker = PlausibilityChecker(numerate.from_pretrained(options.model), false_alarms=max(RATES))
    result = {}
    for name in options.corpora:
        texts = list(documents(Path(options.data), name, options.split))
        random.Random(options.seed).shuffle(texts)
        result[name] = alarms(checker, texts, options.documents, seed=options.seed)
        print(f"{name} is done", flush=True)
    print_tables(result)
    harness.write(options, result)


if __name__ == "__main__":
    main()
