"""Derivations of arithmetic answers, such as `(44.1-56.7)/56.7`: parsed, computed, and matched with an operator."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass

__all__ = ["Formula", "formula_of", "parse_derivation", "value_of"]

_TOKEN = re.compile(r"\s*(?:([\d,]*\.?\d[\d,]*)\s*(%|thousands?|millions?|billions?)?|([-+*/()\[\]{}])|([×÷–−]))", re.I)
_SAME = {"×": "*", "÷": "/", "–": "-", "−": "-", "[": "(", "{": "(", "]": ")", "}": ")"}
_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Formula:
    """A node of a derivation.

    Attributes:
        sign: `n` for a number, `~` for a minus before something, or one of `+ - * /`.
        parts: Its operands.
        number: A number as it is written.
        percent: Whether it has a percent sign.
    """

    sign: str
    parts: tuple[Formula, ...] = ()
    number: float = 0.0
    percent: bool = False

    def numbers(self) -> list[Formula]:
        """All numbers in it, in order."""
        return [self] if self.sign == "n" else [one for part in self.parts for one in part.numbers()]

    def terms(self) -> list[Formula]:
        """The addends of a sum; itself if it is none."""
        return [one for part in self.parts for one in part.terms()] if self.sign == "+" else [self]


def value_of(formula: Formula) -> float | None:
    """What a derivation computes, percentages as they are written; None for a division by 0.

    Example:
        >>> round(value_of(parse_derivation("(44.1 - 56.7) / $56.7")), 4)
        -0.2222
    """
    if formula.sign == "n":
        return formula.number
    values = [value_of(part) for part in formula.parts]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or (formula.sign == "/" and known[1] == 0):
        return None
    return -known[0] if formula.sign == "~" else _OPERATIONS[formula.sign](*known)


def parse_derivation(text: str) -> Formula | None:
    """A derivation as a formula; None if it is none, such as the items of a count.

    Example:
        >>> parse_derivation("2019##2018") is None, len(parse_derivation("(1 + 2 + 3)/3").numbers())
        (True, 4)
    """
    tokens: list[str | Formula] = []
    text = re.sub(r"[$€£¥]", "", text.split("=")[0]).strip()
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        written, mark, sign, other = found.groups()
        if written:
            try:
                tokens.append(Formula("n", number=float(written.replace(",", "")), percent=mark == "%"))
            except ValueError:
                return None
        else:
            tokens.append(_SAME.get(sign or other, sign or other))
        at = found.end()
    try:
        formula, end = _sum(tokens, 0, 0)
    except (IndexError, _NoFormulaError):
        return None
    return formula if end == len(tokens) else None


class _NoFormulaError(Exception):
    """The text is no formula."""


def _sum(tokens: list[str | Formula], at: int, depth: int) -> tuple[Formula, int]:
    left, at = _product(tokens, at, depth)
    while at < len(tokens) and tokens[at] in ("+", "-"):
        sign = str(tokens[at])
        right, at = _product(tokens, at + 1, depth)
        left = Formula(sign, (left, right))
    return left, at


def _product(tokens: list[str | Formula], at: int, depth: int) -> tuple[Formula, int]:
    left, at = _factor(tokens, at, depth)
    while at < len(tokens) and tokens[at] in ("*", "/"):
        sign = str(tokens[at])
        right, at = _factor(tokens, at + 1, depth)
        left = Formula(sign, (left, right))
    return left, at


def _factor(tokens: list[str | Formula], at: int, depth: int) -> tuple[Formula, int]:
    if depth > _DEPTH:
        raise _NoFormulaError
    mark = tokens[at]
    if isinstance(mark, Formula):
        return mark, at + 1
    if mark in ("-", "+"):
        inner, at = _factor(tokens, at + 1, depth + 1)
        return (Formula("~", (inner,)) if mark == "-" else inner), at
    if mark != "(":
        raise _NoFormulaError
    inner, at = _sum(tokens, at + 1, depth + 1)
    if tokens[at] != ")":
        raise _NoFormulaError
    return inner, at + 1


def formula_of(formula: Formula) -> list[tuple[str, list[float]]]:
    """Operators of TagOp that may compute a derivation, with the numbers that are their operands, best first.

    Signs of operands are left out: what a table shows decides about them.

    Example:
        >>> formula_of(parse_derivation("(8 + 7 + 6) / (2019 - 2017 + 1)"))[0]
        ('AVERAGE', [8.0, 7.0, 6.0])
        >>> formula_of(parse_derivation("((414-344)/344) * 100"))[0]
        ('CHANGE_RATIO', [414.0, 344.0])
    """
    ratio = _without_hundred(formula)
    if ratio is not None:
        return formula_of(ratio) + _as_written(formula)
    return _as_written(formula)


def _without_hundred(formula: Formula, within: bool = False) -> Formula | None:
    """The ratio of `ratio * 100` or `part * 100 / whole`, as the official test file has percentages; else None.

    `within` a quotient, a number times 100 is meant, too; alone, `5 * 100` is a product of two numbers of the table.
    """
    while formula.sign == "~":
        formula = formula.parts[0]
    if formula.sign == "/":
        above = _without_hundred(formula.parts[0], within=True)
        return None if above is None else Formula("/", (above, formula.parts[1]))
    if formula.sign == "*":
        for part, factor in (formula.parts, formula.parts[::-1]):
            if [one.number for one in factor.numbers()] == [100] and (within or part.sign != "n"):
                return part
    return None


def _as_written(formula: Formula) -> list[tuple[str, list[float]]]:
    found = [one for one in (_by_shape(formula),) if one is not None]
    numbers = [abs(one.number) for one in formula.numbers()]
    distinct = list(dict.fromkeys(numbers))
    if len(distinct) == 2:
        found += [(name, distinct) for name in ("CHANGE_RATIO", "DIFF", "DIVIDE", "AVERAGE", "SUM", "TIMES")]
    if len(numbers) > 2:
        found += [("DIVIDE", numbers), ("DIFF", numbers)]
    if len(numbers) > 1:
        found += [("SUM", numbers), ("TIMES", numbers), ("AVERAGE", numbers), ("AVERAGE", numbers[:-1])]
    return found


def _by_shape(formula: Formula) -> tuple[str, list[float]] | None:
    while formula.sign == "~":
        formula = formula.parts[0]
    single = [abs(part.numbers()[0].number) for part in formula.parts if len(part.numbers()) == 1]
    if len(formula.parts) == 2 and len(single) == 2:
        return {"-": "DIFF", "+": "SUM", "*": "TIMES", "/": "DIVIDE"}[formula.sign], single
    terms = formula.terms()
    if len(terms) > 1 and all(len(term.numbers()) == 1 for term in terms):
        return "SUM", [abs(term.numbers()[0].number) for term in terms]
    if formula.sign == "-" and formula.parts[0].sign == "/" and value_of(formula.parts[1]) == 1:
        ratio = [abs(one.number) for one in formula.parts[0].numbers()]
        return ("CHANGE_RATIO", ratio) if len(ratio) == 2 else None
    if formula.sign != "/":
        return None
    above, below = formula.parts
    while above.sign == "~":
        above = above.parts[0]
    addends, count = [abs(one.number) for one in above.numbers()], value_of(below)
    if above.sign == "-" and len(addends) == 2 and count is not None and addends[1] == abs(count):
        return "CHANGE_RATIO", addends
    if set(_signs(above)) <= {"+", "-", "~"} and count == len(addends):
        return "AVERAGE", addends
    return None


def _signs(formula: Formula) -> list[str]:
    return [] if formula.sign == "n" else [formula.sign, *(sign for part in formula.parts for sign in _signs(part))]
