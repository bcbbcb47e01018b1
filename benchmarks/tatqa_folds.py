"""TAT-QA's folds that are trained so far, against another row on the same questions and seeds.

    python benchmarks/tatqa_folds.py --source DATA/tatqa/dev.json --folder RESULTS/luna-tatqa --rows in-place:2e-4
    python benchmarks/tatqa_folds.py --source dev.json --answers results/luna-tatqa-answers.npz --rows in-place:2e-4

A cross-validation whose time was up leaves the answers of its finished folds below `folds`, and a whole one its
predictions. For each row (its rate behind a colon) its answers are compared with the base row's to the same questions,
on the folds that both have, each a mean over all seeds that the row has there: EM, F1 and EM of arithmetic questions,
EM and F1 by answer type, and paired differences with 95 % intervals over contexts. With `--answers` beside `--folder`,
the trainings of the folder are counted as further seeds.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import torch

from numerate.metrics.significance import bootstrap
from numerate_lab.tasks.tatqa.question_scores import MEASURES, question_scores
from numerate_lab.tasks.tatqa.report_file import ANSWER_TYPES
from numerate_lab.tasks.tatqa.tatqa_trial import Parts, TatqaTrial, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.task import Columns

RESAMPLES = 10_000


def answers_of(folder: Path, row: str, rate: float, parts: Parts) -> dict[int, dict[int, Columns]]:
    """Answers by seed and fold, of whole cross-validations and of those whose time was up."""
    asked, found = parts.asked["test"], {}
    name = re.compile(rf"{re.escape(row)}-rate{rate:g}-seed(\d+)-epochs\d+(?:-fold(\d+))?")
    for file in sorted([*folder.glob("*.npz"), *folder.glob("folds/*.npz")]):
        match = name.fullmatch(file.stem)
        if match is None:
            continue
        with np.load(file, allow_pickle=False) as arrays:
            folds = found.setdefault(int(match[1]), {})
            if match[2] is not None:
                folds[int(match[2])] = {"answer": arrays["test_answer"], "scale": arrays["test_codes"][:, 0]}
                continue
            for fold, rows in enumerate(asked):  # answers stand in the order of the questions
                places = np.searchsorted(parts.by_split["test"], rows)
                folds[fold] = {key: arrays[f"test_{key}"][places] for key in ("answer", "scale")}
    return found


def store(file: Path, rows: dict[str, dict[int, dict[int, Columns]]]) -> None:
    """Writes answers of rows by seed and fold into one file: each different answer once, and where it is given."""
    folds = {
        f"{row} {seed} {fold}": columns
        for row, seeds in rows.items()
        for seed, by_fold in seeds.items()
        for fold, columns in by_fold.items()
    }
    different = np.unique(np.concatenate([np.asarray(each["answer"]) for each in folds.values()]))
    text = "\0".join(different.tolist()).encode()
    arrays: dict[str, Any] = {"answers": np.frombuffer(text, np.uint8)}
    for name, columns in folds.items():
        arrays[f"answer {name}"] = np.searchsorted(different, np.asarray(columns["answer"])).astype(np.uint16)
        arrays[f"scale {name}"] = np.asarray(columns["scale"], np.int8)
    if len(different) > np.iinfo(np.uint16).max:
        raise SystemExit(f"{len(different):,} different answers do not fit: store fewer rows in one file")
    np.savez_compressed(file, **arrays)


def stored(file: Path, row: str) -> dict[int, dict[int, Columns]]:
    """Answers of a row by seed and fold, of a file that `store` wrote."""
    found: dict[int, dict[int, Columns]] = {}
    with np.load(file, allow_pickle=False) as arrays:
        different = np.array(arrays["answers"].tobytes().decode().split("\0"))
        for name in arrays.files:
            kind, _, rest = name.partition(" ")
            of, _, place = rest.partition(" ")
            if kind == "answer" and of == row:
                seed, fold = map(int, place.split())
                columns = {"answer": different[arrays[name]], "scale": arrays[f"scale {rest}"]}
                found.setdefault(seed, {})[fold] = columns
    return found


def joined(one: dict[int, dict[int, Columns]], more: dict[int, dict[int, Columns]]) -> dict[int, dict[int, Columns]]:
    """Answers of two runs, the seeds of the second numbered behind those of the first."""
    behind = max(one, default=-1) + 1
    return one | {behind + seed: folds for seed, folds in more.items()}


def compared(parts: Parts, ours: dict[int, dict[int, Columns]], base: dict[int, dict[int, Columns]]) -> dict[str, Any]:
    """Means over seeds of a row and of the base, on the folds that both have."""
    sides = ours, base
    folds = sorted(set.intersection(*({fold for of in side.values() for fold in of} for side in sides)))
    if not folds:
        raise SystemExit("no fold that both rows have: look at the names below --folder")
    chosen = np.concatenate([parts.asked["test"][fold] for fold in folds])
    types = np.array([parts.examples[index].question.answer_type for index in chosen])
    groups = torch.from_numpy(parts.contexts[chosen])
    means = [_means(parts, side, folds) for side in sides]
    trained = [[sum(fold in of for of in side.values()) for fold in folds] for side in sides]
    found: dict[str, Any] = {"folds": folds, "trainings": trained[0], "of base": trained[1], "questions": len(chosen)}
    numeric = types == "arithmetic"
    measured = [("EM", "em", numeric | True), ("F1", "f1", numeric | True), ("EM_num", "em", numeric)]
    measured += [
        (f"{title}, {name}", key, types == name)
        for name in ANSWER_TYPES
        for title, key in (("EM", "em"), ("F1", "f1"))
        if (types == name).any()
    ]
    for label, key, where in measured:
        one, other = (torch.from_numpy(side[key][where]) for side in means)
        paired = dataclasses.asdict(bootstrap(one, other, groups[torch.from_numpy(where)], RESAMPLES))
        found[label] = {"row": float(one.mean()), "base": float(other.mean()), "paired": paired}
    return found


def _means(parts: Parts, given: dict[int, dict[int, Columns]], folds: list[int]) -> dict[str, np.ndarray]:
    """Scores of each question of the folds, means over the seeds that have its fold."""
    by_fold = []
    for fold in folds:
        examples = [parts.examples[index] for index in parts.asked["test"][fold]]
        scores = [question_scores(examples, of[fold]) or {} for of in given.values() if fold in of]
        by_fold.append({name: np.mean([each[name] for each in scores], axis=0) for name in MEASURES})
    return {name: np.concatenate([each[name] for each in by_fold]) for name in MEASURES}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--source", required=True, help="file of contexts that was cross-validated")
    parser.add_argument("--folder", help="folder of the grid's results")
    parser.add_argument("--answers", help="file that --store wrote")
    parser.add_argument("--store", help="file to write the answers of all rows to (.npz)")
    parser.add_argument("--rows", nargs="+", required=True, help="rows with their rates: in-place:2e-4")
    parser.add_argument("--base", default="bare:2e-4", help="row to compare with")
    parser.add_argument("--number", type=int, default=5, help="number of folds")
    options = parser.parse_args(arguments)
    if not options.folder and not options.answers:
        parser.error("give --folder, --answers, or both")
    parts = parts_of(
        TatqaTrial(encoding="bare", seed=0, source=options.source, model="unused", folds=options.number)
    )  # no model is loaded
    sides = {}
    for given in (options.base, *options.rows):
        row, _, rate = given.rpartition(":")
        sides[given] = stored(Path(options.answers), given) if options.answers else {}
        if options.folder:
            sides[given] = joined(sides[given], answers_of(Path(options.folder), row, float(rate), parts))
    if options.store:
        store(Path(options.store), sides)
    figures = {row: compared(parts, sides[row], sides[options.base]) for row in options.rows}
    for row, found in figures.items():
        print(f"{row}: trainings of folds {found['folds']}: {found['trainings']}, {found['questions']} questions")
        for label, one in found.items():
            if not isinstance(one, dict):
                continue
            print(f"  {label} {100 * one['row']:.1f}, base {100 * one['base']:.1f}, {one['paired']}")
    harness.write(options, figures)


if __name__ == "__main__":
    sys.exit(main())
