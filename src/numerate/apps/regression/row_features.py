"""Standardised features of table rows, for the trend of `NumberRegressor`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from numerate.apps.regression.network import TargetScale
from numerate.apps.regression.rows import places
from numerate.config import Config, ConfigError, check_names
from numerate.processing.scaling import field_of
from numerate.records.schema import Schema, read_field

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Columns", "Form", "Term"]

Form = Literal["number", "logarithm", "category", "missing", "product"]
MOST_CATEGORIES = 20
"""A text field with more different texts is left to the network."""
MOST_TERMS = 1000
MOST_PRODUCTS = 300
"""If there are more products of two terms, none is used."""


@dataclass(frozen=True, kw_only=True)
class Term(Config):
    """One summand of a trend: `weight * (feature - centre) / spread`, and 0 where the feature is not known.

    Attributes:
        place: Path of the value in a row, with indices of lists.
        form: The feature: the number, its signed logarithm, whether the value is `category` or missing, or the product
            of the standardised features of two earlier terms.
        category: The text of a category; empty for a missing text.
        factors: Positions of the two terms of a product.
        unit: Scale of the signed logarithm, `arcsinh(number / unit)`.
        centre: Mean of the feature in the training rows.
        spread: Its standard deviation.
        weight: What the target changes by for one standard deviation.
    """

    kind: ClassVar[str] = "trend-term"
    place: str = ""
    form: Form = "number"
    category: str = ""
    factors: tuple[int, int] = (0, 0)
    unit: float = 1.0
    centre: float = 0.0
    spread: float = 1.0
    weight: float = 0.0

    def __post_init__(self) -> None:
        check_names(self)
        if not (self.spread > 0 and self.unit > 0):
            raise ConfigError(f"spread and unit of {self.place!r} must be positive, got {self.spread} and {self.unit}")


class Columns:
    """The values of rows at each place: numbers (NaN where missing), or texts (empty where missing)."""

    def __init__(self, rows: Sequence[dict[str, Any]], schema: Schema) -> None:
        self.count = len(rows)
        self.numbers: dict[str, np.ndarray] = {}
        self.texts: dict[str, np.ndarray] = {}
        for at, row in enumerate(rows):
            for place, value in places(row):
                field = schema.fields.get(field_of(place))
                if field is None or not field.shown:
                    continue
                cell = read_field(value, field)
                if field.holds == "text":
                    if cell.kind != "missing":
                        if place not in self.texts:
                            self.texts[place] = np.full(self.count, "", dtype=object)
                        self.texts[place][at] = cell.text or str(value)
                elif cell.kind == field.holds:
                    if place not in self.numbers:
                        self.numbers[place] = np.full(self.count, np.nan)
                    self.numbers[place][at] = cell.number

    def terms(self, forms: Sequence[Form]) -> tuple[Term, ...]:
        """Terms without weights for the rows: numbers in the forms given, common texts and missing values."""
        found: list[Term] = []
        for place, numbers in self.numbers.items():
            missing = np.isnan(numbers)
            known = numbers[~missing]
            unit = _log_unit(known)
            each = [Term(place=place, form=form, unit=unit) for form in forms if form in ("number", "logarithm")]
            found += [_standardised(term, known) for term in each]
            if "missing" in forms and 2 <= missing.sum() <= self.count - 2:
                found.append(_standardised(Term(place=place, form="missing"), numbers))
        for place, texts in self.texts.items():
            counted = Counter(texts.tolist())
            if len(counted) <= MOST_CATEGORIES:
                often = sorted(text for text, count in counted.items() if count >= 2 and (text or "missing" in forms))
                known = texts[np.isin(texts, np.array(often, dtype=object))]
                found += [_standardised(Term(place=place, form="category", category=text), known) for text in often]
        found = [term for term in found if np.isfinite(term.spread)][:MOST_TERMS]
        if "product" in forms and len(found) * (len(found) + 1) // 2 <= min(MOST_PRODUCTS, self.count):
            single = self.features(found)
            pairs = combinations_with_replacement(range(len(found)), 2)
            each = [(Term(form="product", factors=pair), single[:, pair[0]] * single[:, pair[1]]) for pair in pairs]
            found += [term for term in (_standardised(*one) for one in each) if np.isfinite(term.spread)]
        return tuple(found)

    def features(self, terms: Sequence[Term]) -> np.ndarray:
        """Standardised features (N, terms); what is not known is 0, the mean."""
        known: dict[str, set[str]] = {}
        for term in terms:
            if term.form == "category":
                known.setdefault(term.place, set()).add(term.category)
        found = np.zeros((self.count, len(terms)))
        for at, term in enumerate(terms):
            if term.form == "product":
                values = found[:, term.factors[0]] * found[:, term.factors[1]]
            elif term.form == "category":
                texts = self.texts.get(term.place, np.full(self.count, "", dtype=object))
                values = _feature(term, texts)
                # A text that no term knows is like a mean row, and not like none of the categories.
                values[[text not in known[term.place] for text in texts]] = np.nan
            else:
                values = _feature(term, self.numbers.get(term.place, np.full(self.count, np.nan)))
            found[:, at] = np.nan_to_num((values - term.centre) / term.spread)
        return found


def _feature(term: Term, values: np.ndarray) -> np.ndarray:
    """The feature of a term before it is standardised."""
    if term.form == "category":
        return (values == term.category).astype(np.float64)
    if term.form == "missing":
        return np.isnan(values).astype(np.float64)
    if term.form == "logarithm":
        return TargetScale(unit=term.unit).line(values)
    return values


def _standardised(term: Term, values: np.ndarray) -> Term:
    """The term with centre and spread of its feature; a spread of infinity if the feature does not vary."""
    feature = _feature(term, values)
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = (float(feature.mean()), float(feature.std())) if len(feature) else (0.0, 0.0)
    if not spread > 1e-12 * abs(centre) or not np.isfinite(centre + spread):
        return dataclasses.replace(term, spread=np.inf)
    return dataclasses.replace(term, centre=centre, spread=spread)


def _log_unit(known: np.ndarray) -> float:
    """Where the signed logarithm of a field becomes linear: below numbers of one sign, else at the median size."""
    sizes = np.abs(known[known != 0])
    if not len(sizes):
        return 1.0
    one_sign = len(sizes) == len(known) and ((known > 0).all() or (known < 0).all())
    return float(np.clip(sizes.min() / 10 if one_sign else np.median(sizes), 1e-90, 1e90))
