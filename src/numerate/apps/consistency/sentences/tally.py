"""What kinds of numbers a sentence has, counted before anything else is made of it.

Most sentences have a year or a date and no numbers that could contradict each other. A rule says by `wants` which
sentences it has to see, so that quantities and skeletons are made for those only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Tally", "tally_of", "tally_of_all"]


class Tally(NamedTuple):
    """Numbers of a sentence by kind.

    Attributes:
        values: Numbers that are no times, dates or ordinals.
        times: Years and parts of dates and times.
        units: Numbers with a unit, money left out.
        percents: Percentages.
        money: Amounts of money.
        late: Whether a part of a date may be a day that a month does not have.
        small: Whether a count may be the number of items of a list.
        falls: Whether a number is followed by a smaller one, days behind years left out.
        ordinals: Ordinals.
        dates: Parts of dates.
    """

    values: int
    times: int
    units: int
    percents: int
    money: int
    late: bool
    small: bool
    falls: bool
    ordinals: int
    dates: int


def tally_of(numerals: Sequence[Numeral]) -> Tally:
    """Counts the numerals of a sentence.

    Example:
        >>> from numerate.reading import find
        >>> tally_of(find("In 1990, 28 km (27 mi) and 12 km of it cost 5% more."))
        Tally(values=4, times=1, units=3, percents=1, money=0, late=False, small=True, falls=True, ordinals=0, dates=0)
    """
    values = times = units = percents = money = ordinals = dates = 0
    late = small = falls = False
    years = plains = -1e300
    sizes: dict[str, float] = {}
    for numeral in numerals:
        kind, value, unit = numeral.kind, numeral.value, numeral.unit
        if unit is not None or kind == "percent":
            values += 1
            if kind == "percent":
                percents += 1
                unit = "%"
            elif kind == "money":
                money += 1
            else:
                units += 1
                ordinals += kind == "ordinal"
                dates += kind == "date"
            falls = falls or value < sizes.get(unit or "", value) or value < plains
            sizes[unit or ""] = value
        elif kind == "year" or kind == "date" or kind == "time":
            times += 1
            if kind == "date":
                dates += 1
                late = late or 28 < value < 100
            if value >= 1000:
                falls = falls or value < years
                years = value
            else:
                falls = falls or value < plains <= 31
        elif kind != "ordinal":
            values += 1
            late = late or 28 < value < 100
            # A number without a unit may share the unit of the next one, or be a year.
            falls = falls or value < plains or (1000 <= value < years)
            plains = value
        else:
            ordinals += 1
            plains = value
        if 1 < value < 13:
            small = True
    return Tally(values, times, units, percents, money, late, small, falls, ordinals, dates)


def tally_of_all(tallies: Sequence[Tally]) -> Tally:
    """The numbers of several sentences together; `falls` is about numbers of one sentence.

    Example:
        >>> from numerate.reading import find
        >>> tally_of_all([tally_of(find("It has 5 km.")), tally_of(find("It had 7 in 1990."))])[:3]
        (2, 1, 1)
    """
    if len(tallies) == 1:
        return tallies[0]
    values = times = units = percents = money = ordinals = dates = 0
    late = small = falls = False
    for each in tallies:
        values += each[0]
        times += each[1]
        units += each[2]
        percents += each[3]
        money += each[4]
        late, small, falls = late or each[5], small or each[6], falls or each[7]
        ordinals += each[8]
        dates += each[9]
    return Tally(values, times, units, percents, money, late, small, falls, ordinals, dates)
