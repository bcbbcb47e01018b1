"""Questions with a number as their answer (NumerSense, SVAMP, GSM8K), as sentences with one annotated number."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from numerate.training.text_files import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MASK", "as_sentence_row"]

MASK = "<mask>"
"""What NumerSense writes in place of the number word."""
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {"no": "0"} | {word: str(value) for value, word in enumerate(_WORDS)}
_FINAL = "####"
"""What GSM8K writes between the worked steps and the answer."""


def as_sentence_row(row: Any, where: str) -> Mapping[str, Any]:
    """A row of one of these data sets with `comment`, `offset`, `length` and `number`; other rows as they are.

    The answer stands before a question, so that truncation never removes it, and in place of the mask of NumerSense.
    Worked steps are left out: they give the answer away.

    Raises:
        SourceError: The answer is no number; the message names file and record.

    Example:
        >>> row = {"question": "How many are 7 and 5?", "answer": "7 + 5 = 12 #### 12"}
        >>> as_sentence_row(row, "my.jsonl:1")["comment"]
        'The answer is 12. How many are 7 and 5?'
        >>> as_sentence_row({"text": "A cat has <mask> legs.", "answer": "four"}, "my.jsonl:1")["comment"]
        'A cat has 4 legs.'
    """
    if not isinstance(row, dict):
        return row
    if "Body" in row and "Question" in row and "Answer" in row:  # SVAMP as its authors publish it
        row = {"question": f"{row['Body']} {row['Question']}", "answer": row["Answer"], "id": row.get("ID")}
    text, answer = row.get("text"), row.get("answer")
    if answer is None:
        return row
    if isinstance(text, str) and MASK in text:
        return _sentence(row, text.partition(MASK), _written(answer, where))
    if isinstance(row.get("question"), str):
        written = _written(answer, where)
        return _sentence(row, ("The answer is ", "", f". {row['question']}"), written)
    return row


def _sentence(row: Mapping[str, Any], parts: tuple[str, str, str], written: str) -> dict[str, Any]:
    before, _, behind = parts
    kept = {key: row[key] for key in ("id", "split") if row.get(key) is not None}
    return kept | {
        "comment": before + written + behind,
        "offset": len(before),
        "length": len(written),
        "number": written,
    }


def _written(answer: Any, where: str) -> str:
    """An answer in digits, without commas and needless zeros."""
    text = str(answer).rpartition(_FINAL)[2].strip().lower()
    try:
        value = Decimal(_DIGITS.get(text, text.replace(",", "").removeprefix("$")))
        if not value.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise SourceError(
            f"{where}: field 'answer' is {text[:40]!r}, expected a number or a word from no to ten"
        ) from None
    return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
