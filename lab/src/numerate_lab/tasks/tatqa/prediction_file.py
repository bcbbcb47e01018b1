"""Predictions of TAT-QA in the official format: `{question uid: [answer, scale]}`, as its evaluation reads them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput
from numerate.files import content_hash, write_atomically
from numerate.training.results import Result
from numerate_lab.engine.trial import columns_of_split, prediction_files, read_columns
from numerate_lab.tasks.tatqa.report_file import SCALES
from numerate_lab.tasks.tatqa.tatqa_task import TatqaTask
from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.task import Columns
    from numerate_lab.tasks.tatqa.question_rows import Example

__all__ = ["export_predictions", "official_predictions", "read_predictions"]


def official_predictions(examples: Sequence[Example], columns: Columns) -> dict[str, list[Any]]:
    """Predictions by question: the items of the answer, none for no answer, and the scale.

    Args:
        examples: The questions, in the order of the columns.
        columns: `answer` and `scale`, as `TatqaTask.ask` gives them.
    """
    answers, scales = columns["answer"].tolist(), columns["scale"].tolist()
    if not len(examples) == len(answers) == len(scales):
        raise BadInput(f"{len(answers)} predictions for {len(examples)} questions: give the data of that training")
    return {
        one.question.uid: [json.loads(answer), SCALES[scale]]
        for one, answer, scale in zip(examples, answers, scales, strict=True)
    }


def export_predictions(result: str | Path, data: str | Path, output: str | Path) -> Path:
    """Writes the predictions of one training as the official evaluation reads them.

    Args:
        result: The training's JSON in the folder of a comparison; its predictions (`.npz`) stand beside it.
        data: The file of the questions that were asked: `test`, or all data of a cross-validation.
        output: The file to write.

    Raises:
        BadInput: The result is of another task or a try of a rate, its predictions are missing, or the data is not
            that of the training.
    """
    file = Path(result)
    try:
        found = Result.read(file)
        settings = dict(found.config)
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = " ".join(str(error).split())[:200]
        raise BadInput(f"{file}: not the result of a training ({said}): give the JSON of a training") from None
    if settings.get("kind") != TatqaTrial.kind or settings.get("trying"):
        kind = "a try of a rate" if settings.get("trying") else f"a result of {settings.get('kind')!r}"
        raise BadInput(f"{file}: {kind}, and no final training of tatqa")
    asked = "source" if settings.get("test") is None else "test"
    hashes = settings.get("contents", {})
    if asked in hashes and Path(data).is_file() and content_hash(data) != hashes[asked]:
        raise BadInput(f"{data}: other questions than those of {file.name}, which were of {settings[asked]!r}")
    files = prediction_files(file.parent, file.stem, found.figures)
    if missing := [str(one) for one in files.values() if not one.is_file()]:
        raise BadInput(f"{missing[0]}: no such file; the predictions of {file.name} were not kept")
    # Only what is asked has to be read, and a start that this machine may not have is not needed.
    given = {"starts": {}, "start": None, "source": str(data), "dev": None, "test": None}
    config = dataclasses.replace(TatqaTrial.from_dict(settings | given), trying=False)
    columns = columns_of_split(read_columns(files), "test")
    made = official_predictions(_asked(config, asked), columns)
    return write_atomically(output, (json.dumps(made, ensure_ascii=False, indent=1) + "\n").encode())


def _asked(config: TatqaTrial, asked: str) -> list[Example]:
    """The questions in the order of the predictions: all of a file, with and without cross-validation."""
    if asked == "test":  # a file alone has one model
        config = dataclasses.replace(config, test=config.source)
    return TatqaTask(config).examples("test")


def read_predictions(file: str | Path) -> dict[str, tuple[list[str], str]]:
    """Items and scale by question from a file in the official format.

    Raises:
        BadInput: The file is no JSON, or an entry is not an answer and a scale.
    """
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: not a file of predictions: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(found, dict):
        raise BadInput(f"{file}: expected an object of question ids, got {str(found)[:40]!r}")
    made = {}
    for uid, entry in found.items():
        if not isinstance(entry, list) or len(entry) != 2 or entry[1] not in SCALES:
            raise BadInput(f"{file}: question {uid!r} has {str(entry)[:60]!r}, expected [answer, scale]")
        items = entry[0] if isinstance(entry[0], list) else [entry[0]]
        made[uid] = [str(item) for item in items], entry[1]
    return made
