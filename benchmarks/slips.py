"""Detection of planted slips in held-out texts: a model against histograms and a number-blind masked language model.

    python benchmarks/slips.py --model models/numerate-mini --data ../shared/data
    python benchmarks/slips.py --model MODEL --blind ../shared/models/minilm-mlm --compare mog=FOLDER --json x.json
    python benchmarks/slips.py --model MODEL --corpora market tatqa --calibrate

One number of each held-out sentence (or row of a table) gets a slip; what is planted is read again, and a slip that
changes nothing is left out. The model's score is that of its alarms (`odds`), and a slip that turns an ordinal into one
with a wrong ending (`23nd`), which no model reads as a number, is found by the rule `ordinal` of `numerate check`. A
method scores the number as it is written and with the slip. `check` is what a user sees: the model, and all rules of
consistency, which find a number if they report it or compare what they report with it. AUC is that of right against
wrong numbers; `found at 5 %` is the share of slips above the score that 5 % of the right numbers of the corpus exceed.
`false alarms` is the share of right numbers that are reported at 5 % as the model was calibrated; with --calibrate, as
it is calibrated anew to each corpus's dev part.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
from mini_corpus import lines_of, passages
from planted_slips import KINDS, exchanged_at
from slip_baselines import DigitScores, Histogram
from slip_cases import CORPORA, LONGEST, Case, cases_of, held_out
from slip_scores import ModelScores, with_rules

import numerate
from numerate.apps.calibrating import calibrate
from numerate.modeling.number_calibration import MEASURES, alarm_measure, group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.numerals.numeral import Numeral

RATES = (0.01, 0.05)


def auc(right: np.ndarray, wrong: np.ndarray) -> float:
    """Probability that a wrong number scores above a right one; ties count half."""
    if not len(right) or not len(wrong):
        return float("nan")
    ordered = np.sort(right)
    below, not_above = np.searchsorted(ordered, wrong, "left"), np.searchsorted(ordered, wrong, "right")
    return float((below + not_above).mean() / 2 / len(right))


def figures_of(right: np.ndarray, wrong: dict[str, np.ndarray], chosen: np.ndarray) -> dict[str, dict[str, float]]:
    """AUC and found shares of each slip, among the chosen cases."""
    found = {}
    base = right[chosen]
    for kind, scores in wrong.items():
        mine = scores[chosen]
        mine = mine[~np.isnan(mine)]
        if len(mine) < 5:
            continue
        rates = {f"found_{rate:g}": float((mine > np.quantile(base, 1 - rate)).mean()) for rate in RATES}
        found[kind] = {"auc": auc(base, mine), **rates, "slips": len(mine)}
    return found


def detection(
    model: Any, data: Path, *, corpora: Sequence[str] = CORPORA, most: int = 3000, seed: int = 0,
    blind: DigitScores | None = None, others: dict[str, Any] | None = None, measure: str | None = None,
    train: int = 20_000, passages_read: int | None = None, blind_most: int | None = None, own: bool = False,
    split: str = "test",
) -> dict[str, Any]:  # fmt: skip
    """Figures by corpus, method and slip; see the module.

    The number-blind model needs a pass for each slip and the logits of all words, so that it may be asked for the first
    `blind_most` texts alone. With `own`, the model is calibrated to each corpus's dev part before.
    """
    reader, kinds = model.processor.reader, model.processor.kinds
    histograms = _histograms(data, reader, kinds, train)
    measure, shipped = alarm_measure(model.calibration, measure), model.calibration
    result: dict[str, Any] = {}
    for name in corpora:
        if own:
            model.calibration = shipped
            some = _calibrated(model, held_out(data, name, "dev", passages_read), most)
            histograms["word behind, calibration texts"] = Histogram(_pairs(some, reader, kinds), True)
        cases = cases_of(held_out(data, name, split, passages_read), reader, kinds, most, seed)
        every, plain = np.ones(len(cases), dtype=bool), np.array([case.is_plain for case in cases])
        methods: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]] = {}
        scores = ModelScores(model)(cases)
        methods |= {f"model ({each})" if each != measure else "model": scores[each] for each in (measure, *scores)}
        methods["check"] = with_rules(cases, *scores[measure])
        for label, other in (others or {}).items():
            methods[label] = ModelScores(other)(cases)["bits"]
        for label, histogram in histograms.items():
            methods[label] = _of_histogram(histogram, cases)
        result[name] = {
            "texts": len(cases), "plain": int(plain.sum()),
            "false_alarms": _false_alarms(model, cases, scores, measure),
            "exchanged": _by_place(cases, *scores[measure]),
            "methods": {label: {"all": figures_of(*each, every), "plain": figures_of(*each, plain)}
                        for label, each in methods.items()},
        }  # fmt: skip
        if blind is not None:
            some = cases[:blind_most]
            found = _blind(blind, some)
            result[name]["methods"]["number-blind"] = {
                "all": figures_of(*found, every[: len(some)]), "plain": figures_of(*found, plain[: len(some)]),
            }  # fmt: skip
    return result


def _calibrated(model: Any, texts: Sequence[tuple[str, bool]], most: int) -> list[str]:
    """Calibrates a model to texts drawn at random, prints how far it trusts their sizes by word, and returns them."""
    some = [each for each in texts if len(each[0]) <= LONGEST]
    random.Random(0).shuffle(some)
    sentences, rows = ([text for text, is_row in some[:most] if is_row is wanted] for wanted in (False, True))
    found = calibrate(model, sentences, rows=rows)
    share = 0.0 if found.sizes is None else found.sizes.share
    print(f"calibrated to {found.held_out.get('all', 0):,} numbers of text; share of sizes by word {share:.2f}")
    return [*sentences, *rows]


def _by_place(cases: Sequence[Case], right: np.ndarray, wrong: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """AUC of exchanged digits by which of them were exchanged, for years, plain quantities and other numbers."""
    found: dict[str, dict[str, float]] = {}
    sorts = np.array(
        ["year" if case.numeral.kind == "year" else "plain" if case.is_plain else "other" for case in cases]
    )
    pairs = [case.wrong.get("exchanged") for case in cases]
    places = np.array([
        (exchanged_at(case.numeral.text, pair[1].text) if pair is not None and pair[1] is not None else None) or ""
        for case, pair in zip(cases, pairs, strict=True)
    ])  # fmt: skip
    for sort in ("year", "plain", "other"):
        for place in ("only", "first", "middle", "last"):
            mine = wrong["exchanged"][(sorts == sort) & (places == place)]
            if len(mine) >= 5:
                both = {"auc": auc(right, mine), "auc of its kind": auc(right[sorts == sort], mine)}
                found[f"{sort}, {place}"] = both | {"slips": len(mine)}
    return found


def _of_histogram(histogram: Histogram, cases: Sequence[Case]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    wrong = {}
    for kind in KINDS:
        pairs = [case.wrong.get(kind) for case in cases]
        wrong[kind] = np.array([np.nan if pair is None else histogram(pair[1], pair[0]) for pair in pairs])
    return np.array([histogram(case.numeral, case.text) for case in cases]), wrong


def _histograms(data: Path, reader: Any, kinds: Any, most: int) -> dict[str, Histogram]:
    pairs = _pairs((text for texts in passages(data, "train", most) for text in texts), reader, kinds)
    for each in lines_of(data / "units" / "train.jsonl.gz"):
        pairs += [(numeral, each["comment"]) for numeral in reader.find(each["comment"])]
    return {"global histogram": Histogram(pairs, False), "word behind": Histogram(pairs, True)}


def _pairs(texts: Iterable[str], reader: Any, kinds: Any) -> list[tuple[Numeral, str]]:
    return [(each, text) for text in texts for each in reader.find(text) if kinds is None or each.kind in kinds]


def _blind(blind: DigitScores, cases: Sequence[Case]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    wrong = {}
    for kind in KINDS:
        pairs = [case.wrong.get(kind, ("", None)) for case in cases]
        scores = blind([text for text, _ in pairs], [numeral for _, numeral in pairs])
        wrong[kind] = np.where([kind in case.wrong for case in cases], scores, np.nan)
    return blind([case.text for case in cases], [case.numeral for case in cases]), wrong


def _false_alarms(model: Any, cases: Sequence[Case], scores: Any, measure: str) -> dict[str, float]:
    """The share of right numbers that are reported at each rate, as the model is calibrated."""
    if model.calibration is None:
        return {}
    kinds = [group_of(case.numeral, cell=case.is_row) for case in cases]
    p = model.calibration.p_values(measure, kinds, scores[measure][0])
    return {f"{rate:g}": float((p <= rate).mean()) for rate in RATES}


def print_tables(result: dict[str, Any]) -> None:
    """Prints a Markdown table for each corpus."""
    for name, found in result.items():
        alarms = ", ".join(f"{rate}: {share:.3f}" for rate, share in found["false_alarms"].items())
        print(f"\n## {name}: {found['texts']} texts, {found['plain']} plain quantities; false alarms {alarms}\n")
        methods = found["methods"]
        print("| slip | " + " | ".join(f"{label}: AUC, 1 %, 5 %" for label in methods) + " |")
        print("|---|" + "---:|" * len(methods))
        for part in ("all", "plain"):
            kinds = dict.fromkeys(kind for each in methods.values() for kind in each[part])
            for kind in kinds:
                cells = [each[part].get(kind) for each in methods.values()]
                shown = [f"{c['auc']:.3f}, {c['found_0.01']:.2f}, {c['found_0.05']:.2f}" if c else "" for c in cells]
                print(f"| {kind}{' (plain)' if part == 'plain' else ''} | " + " | ".join(shown) + " |")


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="folder or Hub id of a model with a sense of numbers")
    parser.add_argument("--data", default="../shared/data", help="folder of the data sets")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA, help="which of them")
    parser.add_argument("--texts", type=int, default=3000, help="most texts of each")
    parser.add_argument("--blind", help="folder of a number-blind masked language model")
    parser.add_argument("--compare", action="append", default=[], metavar="NAME=FOLDER", help="another model")
    parser.add_argument("--measure", choices=MEASURES, help="score of the model's alarms; its own by default")
    parser.add_argument("--calibrate", action="store_true", help="calibrate to the dev part of each corpus before")
    parser.add_argument("--passages", type=int, help="most passages of wiki that are read, for a trial")
    parser.add_argument("--train", type=int, default=20_000, help="training passages for the histograms")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device of the models")
    parser.add_argument("--split", default="test", choices=("dev", "test"), help="dev to choose among models")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of numbers and slips")
    options = parser.parse_args(given)
    model = numerate.from_pretrained(options.model).to(options.device)
    others = {}
    for each in options.compare:
        label, _, folder = each.partition("=")
        others[label] = numerate.from_pretrained(folder).to(options.device)
    blind = None if options.blind is None else DigitScores(options.blind, options.device)
    result = detection(
        model, Path(options.data), corpora=options.corpora, most=options.texts, seed=options.seed, blind=blind,
        others=others, measure=options.measure, train=options.train, passages_read=options.passages,
        own=options.calibrate, split=options.split,
    )  # fmt: skip
    print_tables(result)
    harness.write(options, result)


if __name__ == "__main__":
    main()
