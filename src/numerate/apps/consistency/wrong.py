"""Findings that several rules have: a sum, a difference or a range that is wrong, a value that is told twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["told_differently", "wrong_difference", "wrong_order", "wrong_sum"]


def wrong_sum(
    total: Quantity, parts: Sequence[Quantity], real: float, probability: float = 0.95, sign: str = "+"
) -> Finding:
    """A finding such as `12 + 15 = 27, not 28`."""
    terms = f" {sign} ".join(plain(each.value) for each in parts)
    message = f"{terms} = {plain(real)}, not {total.text}."
    return finding_at("sum", total, message, meant=real, others=parts, probability=probability)


def wrong_difference(d: Quantity, a: Quantity, b: Quantity, real: float, probability: float = 0.95) -> Finding:
    """A finding such as `The difference of 5 m and 12 m is 7 m, not 9 m`."""
    message = f"The difference of {a.text} and {b.text} is {written_like(d, real)}, not {d.text}."
    return finding_at("difference", d, message, meant=real, others=[a, b], probability=probability)


def wrong_order(a: Quantity, b: Quantity, probability: float, relation: str = "more than") -> Finding:
    """A finding such as `The range begins with 18, which is more than its end 14`."""
    message = f"The range begins with {a.text}, which is {relation} its end {b.text}."
    return finding_at("range", a, message, others=[b], probability=probability)


def told_differently(first: Quantity, second: Quantity, probability: float) -> Finding:
    """A finding such as `This is 68 here and 86 before`."""
    message = f"This is {second.text} here and {first.text} before."
    return finding_at("repeated", second, message, meant=first.value, others=[first], probability=probability)
