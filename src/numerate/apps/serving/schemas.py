"""What the service takes and gives, as pydantic models: they check requests, and the OpenAPI page is made of them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "CheckAnswer", "CheckRequest", "ErrorAnswer", "FillAnswer", "FillRequest", "FindAnswer", "FindRequest", "Health",
]  # fmt: skip


class _Strict(BaseModel):
    """A model that takes no key that it does not know: a typing error would otherwise pass unseen."""

    model_config = ConfigDict(extra="forbid")


def _example(**example: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class FindRequest(_Strict):
    """Texts whose numbers are read."""

    model_config = _example(text="Revenue rose 3.2% to $1.5 billion in 2023.")

    text: str | list[str] = Field(description="One text, or several.")
    reader: Literal["standard", "luna", "plain", "records"] = Field(
        default="standard", description="How numbers are read."
    )
    words: bool = Field(default=False, description="Also read number words; reader `standard` only.")
    roman: bool = Field(default=False, description="Also read Roman numerals; reader `standard` only.")
    locale: Literal["auto", "en", "eu", "in", "ch"] | None = Field(default=None, description="How digits are grouped.")
    cell: bool = Field(default=False, description="Each text is a cell of a table: (317) and 5- are negative.")


class NumberFound(_Strict):
    """A number of a text; `value` is what it means: 0.032 of `3.2%`. Not finite values are strings."""

    start: int
    end: int
    text: str
    value: float | str
    written: float | str
    decimals: int
    kind: str
    unit: str | None
    path: str = ""
    shared: bool = False
    uncertainty: float | str | None = None
    confidence: str = "certain"


class NumbersOfText(_Strict):
    """The numbers of one text, in its order."""

    numbers: list[NumberFound]


class FindAnswer(_Strict):
    """One result for each text, in the order of the request."""

    results: list[NumbersOfText]


class FillRequest(_Strict):
    """Texts with gaps."""

    model_config = _example(text="The tower is [NUM] metres tall and was built in 1889.", top=3)

    text: str | list[str] = Field(description="One text, or several, each with a `[MASK]` (a word) or `[NUM]`.")
    top: int = Field(default=5, ge=1, le=50, description="Words or numerals of each gap.")


class Word(_Strict):
    """A word, and how probable it is."""

    word: str
    probability: float


class Number(_Strict):
    """A number as the text would write it, its value, and how probable it is."""

    text: str
    value: float | None
    probability: float


class Density(_Strict):
    """Probabilities of bins."""

    edges: list[float | None]
    shares: list[float]


class Gap(_Strict):
    """A gap: `words` for `[MASK]`, all else for `[NUM]`. Values that are not finite are null."""

    gap: Literal["[MASK]", "[NUM]"]
    words: list[Word] | None = None
    numbers: list[Number] | None = None
    median: float | None = None
    interval_50: tuple[float | None, float | None] | None = None
    interval_90: tuple[float | None, float | None] | None = None
    kind: str | None = None
    calibrated: bool | None = None
    density: Density | None = None


class FilledText(_Strict):
    """A text, and what belongs into its gaps, in reading order."""

    text: str
    gaps: list[Gap]


class FillAnswer(_Strict):
    """One result for each text, in the order of the request."""

    results: list[FilledText]


class CheckRequest(_Strict):
    """A text, or records (rows of a table as objects), to be checked."""

    model_config = _example(text="The lake is 28 km (27 mi) long. It took 12 men and 15 women, 28 people in all.")

    text: str | None = Field(default=None, description="A text, also with tables; give this or `records`.")
    records: list[dict[str, Any]] | None = Field(default=None, description="Objects of one table; give this or `text`.")
    ignore: list[str] = Field(default=[], max_length=100, description="Ids of rules that are left out.")
    false_alarms: float | None = Field(
        default=None, gt=0, lt=1, description="Share of right numbers that may be reported as improbable."
    )
    model: bool | None = Field(default=None, description="Whether the model judges, too; by default if there is one.")


class FindingGiven(BaseModel):
    """A number that looks wrong; the fields are those of `numerate check --json`."""

    rule: str
    message: str
    written: str
    meant: str | None = None
    severity: Literal["error", "warning", "note"]
    probability: float
    span: tuple[int, int] | None = None
    cell: tuple[int, int] | None = None
    fingerprint: str


class CheckAnswer(_Strict):
    """The findings, most probable first; `numbers` were looked at; `model` says whether a model judged them."""

    findings: list[FindingGiven]
    numbers: int
    model: bool


class Health(_Strict):
    """What the service can do."""

    status: Literal["ok"]
    version: str
    model: bool = Field(description="Whether /fill works.")


class ErrorAnswer(_Strict):
    """Any error, in one line."""

    error: str
