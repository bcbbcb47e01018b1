"""Scalers for the values in the number table, fitted on numerals, one for each field of the data.

xVal needs values within [-5, 5]. A *field* is a key path without its list indices (`data[3][0]` belongs to `data[][]`),
or a unit. A value outside the limit *saturates*; `report` shows the share of each field.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from numerate.config import Config, check_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["EVERYTHING", "FieldScaler", "Saturation", "Scaling", "field_of"]

ScalerKind = Literal["standard", "range", "log", "none"]

EVERYTHING = "*"
"""The field of all values together, for fields that did not occur when the scaling was fitted."""
_INDEX = re.compile(r'("(?>[^"\\]++|\\.)*+")|\[[0-9]++\]')
_CONSTANT = 1e-12
"""A spread below this share of the values' size is a rounding error."""
_TINY = 1e-300
_LARGEST = math.log(1.7976931348623157e308)  # the largest exponent in float64


@functools.lru_cache(maxsize=1 << 16)
def field_of(path: str) -> str:
    """The field of a key path: the path without its list indices.

    Example:
        >>> field_of('description.planet0.m'), field_of('data[3][0]'), field_of('["my [3]"][7]')
        ('description.planet0.m', 'data[][]', '["my [3]"][]')
    """
    return _INDEX.sub(lambda match: match[1] or "[]", path)


@dataclass(frozen=True, kw_only=True)
class FieldScaler(Config):
    """One fitted scaler: `(bent(x) - centre) / spread`.

    Attributes:
        scaler: "log" first maps a value to `sign(x) * log1p(|x| / unit)`; the others do not.
        centre: The value that is mapped to 0.
        spread: The distance from the centre that is mapped to 1.
        unit: The size at which "log" changes from linear to logarithmic.
        count: The number of finite values it was fitted on.
        saturated: The number of these values outside the limit.
    """

    kind: ClassVar[str] = "field-scaler"
    scaler: ScalerKind = "standard"
    centre: float = 0.0
    spread: float = 1.0
    unit: float = 1.0
    count: int = 0
    saturated: int = 0

    def __post_init__(self) -> None:
        for name in ("spread", "unit"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                raise ValueError(f"{name} must be positive, got {name}={getattr(self, name)!r}")
        if not math.isfinite(self.centre):
            raise ValueError(f"centre must be finite, got centre={self.centre!r}")


class Saturation(NamedTuple):
    """One line of a report: how many values of a field lie outside the limit."""

    field: str
    scaler: str
    values: int
    saturated: int

    @property
    def share(self) -> float:
        """The share of the values outside the limit."""
        return self.saturated / self.values if self.values else 0.0


@dataclass(frozen=True, kw_only=True)
class Scaling(Config):
    """Scalers of all fields; `fit` returns a fitted copy, which is saved as JSON.

    NaN and infinities stay the same. A field that did not occur when the scaling was fitted uses the scaler of all
    values together, and is counted in `unseen`.

    Attributes:
        by: What defines a field: the key "path", the "unit", or "none" (all values are one field).
        scaler: "standard" (mean 0, deviation 1; a constant keeps deviation 1), "range" (smallest and largest value to
            minus and plus `limit`), "log" (`sign(x) * log1p(|x| / x0)`, x0 the median size, then standard) or "none".
        choose: Another scaler for some fields, as `{"data[][]": "none"}`.
        limit: A scaled value beyond it saturates; 5 in xVal.
        fields: The fitted scalers.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> numerals = [Numeral(str(v), 0, 1, v, path=f"data[{i}]") for i, v in enumerate([10.0, 20.0, 30.0])]
        >>> scaling = Scaling(scaler="range").fit(numerals)
        >>> scaling.apply(numerals).round(9).tolist()
        [-5.0, 0.0, 5.0]
        >>> scaling.invert(["data[7]"], [2.5]).tolist()
        [25.0]
        >>> print(scaling.report())
        field   scaler  values  beyond 5  share
        data[]  range        3         0  0.0 %
        *       range        3         0  0.0 %
    """

    kind: ClassVar[str] = "scaling"
    by: Literal["path", "unit", "none"] = "path"
    scaler: ScalerKind = "standard"
    choose: dict[str, ScalerKind] = dataclasses.field(default_factory=dict)
    limit: float = 5.0
    fields: dict[str, FieldScaler] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.limit > 0 and math.isfinite(self.limit)):
            raise ValueError(f"limit must be positive, got limit={self.limit!r}")
        check_names(self)
        if self.fields and EVERYTHING not in self.fields:
            raise ValueError(f"the fitted fields lack {EVERYTHING!r}, the scaler of all values")
        object.__setattr__(self, "_unseen", Counter())

    @property
    def unseen(self) -> dict[str, int]:
        """The number of values of each unknown field that were scaled with the common scaler."""
        return dict(self._unseen)  # type: ignore[attr-defined]

    def fit(self, numerals: Iterable[Numeral], values: Sequence[float] | None = None) -> Scaling:
        """A copy fitted on the finite values of the numerals, or on `values` in their place."""
        numerals = list(numerals)
        numbers = self._numbers(numerals, values)
        finite = np.isfinite(numbers)
        if not finite.any():
            raise ValueError(f"a scaling needs finite values, got none among {len(numbers)}")
        places: dict[str, list[int]] = {}
        for at in np.flatnonzero(finite).tolist():
            places.setdefault(self._key(numerals[at]), []).append(at)
        fields = {
            name: _fitted(numbers[places[name]], self.choose.get(name, self.scaler), self.limit)
            for name in sorted(places)
            if name != EVERYTHING
        }
        fields[EVERYTHING] = _fitted(numbers[finite], self.choose.get(EVERYTHING, self.scaler), self.limit)
        return dataclasses.replace(self, fields=fields)

    def apply(
        self,
        numerals: Sequence[Numeral | str],
        values: Sequence[float] | np.ndarray | None = None,
        *,
        count: bool = True,
    ) -> np.ndarray:
        """Scaled values of numerals, or of `values` with these numerals, paths or units: (N,) float64.

        Unless `count` is False, values of unknown fields are counted in `unseen`.
        """
        names = [self._key(numeral) for numeral in numerals]
        if count and not self._fitted_fields().keys() >= set(names):
            self._unseen.update(name for name in names if name not in self.fields)  # type: ignore[attr-defined]
        return self._scaled(names, self._numbers(numerals, values))

    def _scaled(self, names: list[str], numbers: np.ndarray) -> np.ndarray:
        centre, spread, unit, bent = self._columns(names)
        straight = np.where(bent, _bend(numbers, unit), numbers)
        with np.errstate(over="ignore", invalid="ignore"):
            shifted = straight - centre
            scaled = shifted / spread
            # Only where the difference overflows: halving loses the last bit of the smallest numbers.
            wide = np.isinf(shifted) & np.isfinite(straight)
            scaled = np.where(wide, (straight / 2 - centre / 2) / spread * 2, scaled)
        return np.where(np.isfinite(numbers), scaled, numbers)

    def invert(self, numerals: Sequence[Numeral | str], values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The original values of scaled ones with these numerals, paths or units; infinite where float64 overflows."""
        numbers = self._numbers(numerals, values)
        centre, spread, unit, bent = self._columns([self._key(numeral) for numeral in numerals])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            straight = numbers * spread + centre
            wide = ~np.isfinite(straight) & np.isfinite(numbers)
            half = numbers / 2 * spread + centre / 2
            most = np.finfo(np.float64).max / 2  # rounding may exceed the largest float here, too
            half = np.where(np.abs(half) <= most * (1 + 1e-9), np.clip(half, -most, most), half)
            straight = np.where(wide, half * 2, straight)
            unbent = np.sign(straight) * np.expm1(np.abs(straight)) * unit
            # The last step may overflow even if the result does not, and rounding may exceed the largest float.
            logs = np.abs(straight) + np.log(-np.expm1(-np.abs(straight))) + np.log(unit)
            size = np.where(logs <= _LARGEST * (1 + 1e-9), np.minimum(np.exp(logs), 2 * most), np.exp(logs))
            unbent = np.where(np.isinf(unbent), np.sign(straight) * size, unbent)
        return np.where(np.isfinite(numbers), np.where(bent, unbent, straight), numbers)

    def saturation(self, numerals: Iterable[Numeral] | None = None) -> list[Saturation]:
        """Counts the values of each field outside the limit: of those it was fitted on, or of `numerals`."""
        if numerals is None:
            return [Saturation(name, f.scaler, f.count, f.saturated) for name, f in self._fitted_fields().items()]
        fields, numerals = self._fitted_fields(), list(numerals)
        names = [self._key(numeral) for numeral in numerals]
        numbers = self._numbers(numerals, None)
        scaled = self._scaled(names, numbers)
        count, beyond = Counter[str](), Counter[str]()
        for name, finite, large in zip(names, np.isfinite(numbers), np.abs(scaled) > self.limit, strict=True):
            for key in {name if name in fields else EVERYTHING, EVERYTHING} if finite else ():
                count[key] += 1
                beyond[key] += bool(large)
        return [Saturation(name, f.scaler, count[name], beyond[name]) for name, f in fields.items()]

    def report(self, numerals: Iterable[Numeral] | None = None) -> str:
        """`saturation` as a text table, with the unknown fields so far."""
        rows = [("field", "scaler", "values", f"beyond {self.limit:g}", "share")]
        rows += [
            (line.field, line.scaler, f"{line.values:,}", f"{line.saturated:,}", f"{100 * line.share:.1f} %")
            for line in self.saturation(numerals)
        ]
        rows += [(name, "unseen", f"{times:,}", "", "") for name, times in sorted(self.unseen.items())]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        form = "  ".join(f"{{:{'<' if column < 2 else '>'}{width}}}" for column, width in enumerate(widths))
        return "\n".join(form.format(*row).rstrip() for row in rows)

    def _key(self, numeral: Numeral | str) -> str:
        if self.by == "none":
            return EVERYTHING
        if isinstance(numeral, str):
            return field_of(numeral) if self.by == "path" else numeral
        return field_of(numeral.path) if self.by == "path" else numeral.unit or ""

    def _fitted_fields(self) -> dict[str, FieldScaler]:
        if not self.fields:
            raise ValueError("the scaling is not fitted yet: call fit() with numerals of the training data")
        return self.fields

    def parameters(self, numerals: Sequence[Numeral | str]) -> tuple[np.ndarray, ...]:
        """Centre, spread, unit and whether it is "log", of the scaler of each numeral, path or unit: (N,) each."""
        return self._columns([self._key(numeral) for numeral in numerals])

    def _columns(self, names: list[str]) -> tuple[np.ndarray, ...]:
        """`parameters` of each field."""
        fields = self._fitted_fields()
        places = {name: place for place, name in enumerate(fields)}
        fallback = places[EVERYTHING]
        index = np.array([places.get(name, fallback) for name in names], dtype=np.int64)
        parameters = np.array([(f.centre, f.spread, f.unit, f.scaler == "log") for f in fields.values()])
        centre, spread, unit, bent = parameters[index].T
        return centre, spread, unit, bent > 0

    @staticmethod
    def _numbers(numerals: Sequence[Any], values: Sequence[float] | np.ndarray | None) -> np.ndarray:
        if values is None:
            values = [numeral.value for numeral in numerals]
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.shape != (len(numerals),):
            raise ValueError(f"{len(numerals)} numerals need as many values, got shape {numbers.shape}")
        return numbers


def _bend(numbers: np.ndarray, unit: np.ndarray | float) -> np.ndarray:
    sizes = np.abs(numbers)
    with np.errstate(all="ignore"):
        ratio = sizes / unit
        logs = np.where(np.isinf(ratio), np.log(sizes) - np.log(unit), np.log1p(ratio))
    return np.sign(numbers) * logs


def _fitted(numbers: np.ndarray, scaler: ScalerKind, limit: float) -> FieldScaler:
    """A scaler fitted on finite values, of which there is at least one."""
    centre, spread, unit = 0.0, 1.0, 1.0
    straight = numbers
    if scaler == "log":
        sizes = np.abs(numbers[numbers != 0])
        unit = max(float(np.sort(sizes)[len(sizes) // 2]), _TINY) if len(sizes) else 1.0
        straight = _bend(numbers, unit)
    if scaler != "none":
        # Relative to the largest size, so that neither sums nor squares overflow.
        largest = max(float(np.abs(straight).max()), _TINY)
        parts = straight / largest
        if scaler == "range":
            low, high = float(parts.min()), float(parts.max())
            middle, width = low / 2 + high / 2, (high / 2 - low / 2) / limit
        else:
            middle, width = float(parts.mean()), float(parts.std())
        centre = middle * largest
        if width > _CONSTANT and width * largest > _TINY:
            spread = width * largest
    with np.errstate(over="ignore"):
        # With a tolerance: the ends of a range lie on the limit, not beyond it.
        beyond = np.abs(straight / 2 - centre / 2) / spread * 2 > limit * (1 + 1e-9)
    return FieldScaler(
        scaler=scaler, centre=centre, spread=spread, unit=unit, count=len(numbers), saturated=int(beyond.sum())
    )
