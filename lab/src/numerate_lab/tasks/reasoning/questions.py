"""Questions with a number as their answer: NumerSense, SVAMP and GSM8K, from JSON lines, JSON or CSV.

A question is a sentence whose annotated number is the answer: `... How many are left? Answer: 12`. NumerSense masks a
number word within a sentence; the number stands there in digits. `no` and `zero` are both 0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.numerals.numeral import Numeral
from numerate.reading import find_batch
from numerate.training.sources import SPLITS, SourceError, rows_of
from numerate.training.text_files import field_value
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
from numerate_lab.tasks.next_numeral.corpora import drawn_split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["DATASETS", "WORDS", "Question", "baseline_guesses", "question_of_row", "read_questions"]

DATASETS = ("numersense", "svamp", "gsm8k")
WORDS = ("no", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""NumerSense's answers."""
_VALUES = dict(zip(WORDS, (0, *range(11)), strict=True))
_MASK = "<mask>"
_FINAL = re.compile(r"####\s*(\S.*?)\s*$")
_NUMBER = re.compile(r"-?[0-9][0-9,]*(\.[0-9]+)?", re.ASCII)
_ANSWER = re.compile(r"-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?", re.ASCII)
"""A final answer; in `1,23` the comma is a decimal one, and 123 would be wrong."""
_ENDINGS = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".csv")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its answer.

    Attributes:
        sentence: The text with the answer in it, and the answer as its annotated number.
        group: What the split is drawn by: the text; in SVAMP its `question_template`, or the text without its numbers,
            so that a question with other numbers is in the same split.
        word: NumerSense's answer as a word; empty for the others.
    """

    sentence: NumberSentence
    group: str
    word: str = ""

    @property
    def value(self) -> float:
        """The answer."""
        return self.sentence.numeral.value  # type: ignore[union-attr]

    @property
    def precision(self) -> int:
        """The power of ten of the answer's last written digit."""
        return -len(self.sentence.numeral.text.partition(".")[2])  # type: ignore[union-attr]

    def asking(self, mask: str) -> str:
        """The text with a mask in place of the answer."""
        numeral: Any = self.sentence.numeral
        return self.sentence.text[: numeral.start] + mask + self.sentence.text[numeral.end :]


def read_questions(source: str | Path, dataset: str, split: str) -> list[Question]:
    """The questions of one split.

    Args:
        source: A folder with `svamp_train.jsonl.gz`, `svamp_test.jsonl`, `train.json`, ... or one file. A split without
            a file of its own is drawn from the training file by a hash of the text: 10 % dev, and 20 % test if there is
            no test file either.
        dataset: One of `DATASETS`.
        split: `train`, `dev` or `test`.

    Raises:
        SourceError: A file is missing, or a row is broken; the message names file and row.
    """
    if dataset not in DATASETS or split not in SPLITS:
        known = f"{', '.join(DATASETS)}, and a split of {', '.join(SPLITS)}"
        raise SourceError(f"there is no {dataset!r} with the split {split!r}: give one of {known}")
    files = {name: _file(Path(source), dataset, name) for name in SPLITS} if not Path(source).is_file() else {}
    train = Path(source) if Path(source).is_file() else files["train"]
    if files.get(split) is not None and split != "train":
        questions = list(_of_file(files[split], dataset))  # type: ignore[arg-type]
    else:
        if train is None:
            raise SourceError(f"{source}: a folder without {dataset}_train.jsonl.gz, or no such folder")
        own = {name for name in ("dev", "test") if files.get(name) is not None}
        questions = [one for one in _of_file(train, dataset) if _drawn(one.group, own) == split]
    if not questions:
        raise SourceError(f"{source}: there is no question of {dataset} in the split {split!r}")
    return questions


def _drawn(group: str, own: set[str]) -> str:
    """The split of a question of the training file; questions of splits with files of their own stay in training."""
    found = drawn_split(group)
    return "train" if found in own else found


def _file(folder: Path, dataset: str, split: str) -> Path | None:
    named = [
        folder / f"{first}{name}{end}" for first in (f"{dataset}_", "") for name in SPLITS[split] for end in _ENDINGS
    ]
    return next((file for file in named if file.is_file()), None)


def _of_file(file: Path, dataset: str) -> Iterator[Question]:
    for number, (where, row) in enumerate(rows_of(str(file))):
        yield question_of_row(row, dataset, where, number)


def question_of_row(row: Mapping[str, Any], dataset: str, where: str = "row", number: int = 0) -> Question:
    """Converts a row; error messages name `where` it is.

    Example:
        >>> row = {"question": "I had 5 pens and lost 2. How many are left?", "answer": 3.0}
        >>> question_of_row(row, "svamp").asking("[NUM]")
        'I had 5 pens and lost 2. How many are left? Answer: [NUM]'
        >>> question_of_row({"text": "A cat has <mask> legs.", "answer": "four"}, "numersense").sentence.text
        'A cat has 4 legs.'
    """
    if not isinstance(row, dict):
        raise SourceError(f"{where}: expected an object, got {str(row)[:40]!r}")
    name = str(row.get("id") or number)
    if dataset == "numersense":
        text = _text(row, ("text", "sentence"), where)
        word = str(field_value(row, "answer", where)).strip().lower()
        if text.count(_MASK) != 1:
            raise SourceError(f"{where}: field 'text' must have one {_MASK}, got {text[:60]!r}")
        if word not in _VALUES:
            raise SourceError(f"{where}: field 'answer' must be one of {', '.join(WORDS)}, got {word[:40]!r}")
        before, _, behind = text.partition(_MASK)
        return Question(_sentence(name, before, str(_VALUES[word]), behind), text, word)
    text = _text(row, ("question", "Question"), where)
    if "Body" in row:
        text = f"{_text(row, ('Body',), where).rstrip()} {text}"
    answer = field_value(row, "Answer" if "Answer" in row and "answer" not in row else "answer", where)
    written = _written(answer, dataset, where)
    template = row.get("question_template")
    bare = _NUMBER.sub("0", text) if dataset == "svamp" else text
    group = template if isinstance(template, str) and template.strip() else bare
    return Question(_sentence(name, f"{text.strip()} Answer: ", written, ""), group)


def _sentence(name: str, before: str, written: str, behind: str) -> NumberSentence:
    numeral = Numeral(written, len(before), len(before) + len(written), float(written))
    return NumberSentence(name, before + written + behind, numeral)


def _text(row: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    value = field_value(row, next((name for name in names if name in row), names[0]), where)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(f"{where}: field {names[0]!r} must be a text, got {str(value)[:40]!r}")
    return value


def _written(answer: Any, dataset: str, where: str) -> str:
    """The final answer in digits, without commas; whole numbers have no point."""
    text = str(answer)
    if dataset == "gsm8k":
        found = _FINAL.search(text)
        if found is None:
            raise SourceError(f"{where}: field 'answer' must end in '#### ' and a number, got {text[-40:]!r}")
        text = found[1].lstrip("$")
    elif isinstance(answer, float) and math.isfinite(answer):
        text = format(Decimal(repr(answer)), "f")  # 1e-07 is a number, too
    text = text.strip()
    value = float(text.replace(",", "")) if _ANSWER.fullmatch(text) and not isinstance(answer, bool) else math.nan
    if not math.isfinite(value):
        raise SourceError(f"{where}: field 'answer' must be a number, got {text[:40]!r}")
    whole = value == int(value) and abs(value) < 2**53
    return str(int(value)) if whole else format(Decimal(repr(value)), "f")


def baseline_guesses(train: Sequence[Question], test: Sequence[Question]) -> dict[str, np.ndarray]:
    """Guesses without a model: the most frequent training answer, their median, and the last number of the question.

    Returns:
        By name, (N,) float64. A question without a number gets the median as its last number.

    Example:
        >>> rows = [("2 and 3?", 5), ("1 and 4?", 5), ("none?", 9)]
        >>> some = [question_of_row({"question": text, "answer": value}, "svamp") for text, value in rows]
        >>> {name: found.tolist() for name, found in baseline_guesses(some, some).items()}
        {'most frequent answer': [5.0, 5.0, 5.0], 'median': [5.0, 5.0, 5.0], 'last number': [3.0, 4.0, 5.0]}
    """
    values = [one.value for one in train]
    frequent, middle = Counter(values).most_common(1)[0][0], float(np.median(values))
    found = find_batch([one.asking("") for one in test])
    last = [next((n.value for n in reversed(row) if math.isfinite(n.value)), middle) for row in found]
    constant = {"most frequent answer": frequent, "median": middle}
    return {name: np.full(len(test), value) for name, value in constant.items()} | {"last number": np.array(last)}
