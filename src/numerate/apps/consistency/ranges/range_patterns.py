"""Patterns of ranges, limits, means and intervals, over the skeletons of sentences."""

from __future__ import annotations

import re

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import (
    COUNT,
    DATED,
    MONEY,
    ORDINAL,
    PERCENT,
    UNIT,
    VALUE,
    YEAR,
    one,
    slot,
)

__all__ = [
    "AGED", "BC", "BETWEEN", "BETWEEN_YEARS", "BORN", "CENTRE", "CENTRES", "CI", "CODE", "CUES", "DASHED",
    "DASHED_DAYS", "DATES", "DAYS", "ENDED", "FROM_YEARS", "GUESSED", "IN_UNITS", "LASTING", "LEAST", "LIMITS", "MEAN",
    "MOST", "NORMAL", "OF_MONEY", "OTHER_END", "REVERSED", "SCALED", "SHARED", "SHORTENED", "TIME_OF_DAY", "TWO_THINGS",
    "YEARS",
]  # fmt: skip

_A, _B = slot("a", VALUE), slot("b", VALUE)
_DASH = r" ?(?:–|—|-|to|,|;) ?"
LIMITS = [
    ((' maximum', ' high'), regex(
        rf"\b(?:minimum|low) (?:of |is |was )?{_A}(?: [a-z]+){{0,2}},? (?:and|to|with) an? (?:maximum"
        rf"|high) (?:of |is |was )?{_B}")),
    ((' minimum', ' low'), regex(
        rf"\b(?:maximum|high) (?:of |is |was )?{_B}(?: [a-z]+){{0,2}},? (?:and|to|with) an? (?:minimum"
        rf"|low) (?:of |is |was )?{_A}")),
]  # fmt: skip
BETWEEN = regex(
    rf"\b(?:between|range (?:was|is|of)|range:|ranged from|ranges from|ranging from|range from"
    rf"|range between|ranged between"
    rf"|ranging between|(?:costs?|var(?:y|ies|ied)|prices? go|priced) from"
    rf"|runs? from(?= {one(MONEY)})) {_A} (?:and|to) {_B}"
)
AGED = regex(rf"\b(?:aged|ages|age range:?|pages?|pp\.|between ages|from ages) {_A}(?:–|—|-| to ){_B}(?![–—-])")
DASHED = regex(rf"(?<![–—-]){slot('a', UNIT)}[–—-]{slot('b', UNIT)}(?![–—-])")
YEARS = regex(rf"(?<![–—/-]){slot('a', YEAR)} ?(?:–|—|-) ?{slot('b', YEAR)}(?![–—/-])")
FROM_YEARS = regex(
    rf"\bfrom (?:[a-z]+ )?{slot('a', YEAR)} ?(?:(?:up )?to|until|till|through|–|—|-) ?"
    r"(?:(?:(?:his|her|its|their|the|that) )?(?:[a-z]+ ){0,2}?(?:death|retirement|resignation|closure|abolition"
    r"|dissolution|demolition|abdication|deposition|dismissal|murder|execution|assassination|merger|removal|defeat|end"
    r"|overthrow"
    r"|departure|exile|bankruptcy|independence|reunification|collapse|destruction) (?:in|of|by) )?"
    rf"{slot('b', YEAR)}(?=[ .,;)]|$)"
)
SHARED = regex(rf"(?<!from )(?<!by )(?<!\(){slot('a', UNIT)} to {slot('b', UNIT)}(?! (?:from|by))")
LASTING = regex(
    r"\b(?:last(?:s|ed|ing)?|tak(?:es?|ing)|took|var(?:y|ies|ied|ying)|costs?|costing|weigh(?:s|ed|ing)?|persist\w*"
    r"|measur\w+|adjust\w*|available|selectable|settable"
    r"|allowed|permitted|recommended|rated|suitable|usable|approved|operat(?:es?|ing)|stor(?:ed?|age)"
    rf"|tolerat(?:es?|ed))(?: [a-z]+)? from {slot('a', UNIT + MONEY)}"
    rf" to {slot('b', UNIT + MONEY)}"
)
GUESSED = regex(
    r"\b(?:expect\w*|forecast\w*|estimat\w*|predict\w*|project(?:s|ed|ing)|anticipat\w*|guid(?:es|ance|ed)|outlook)\b"
)
SHORTENED = regex(
    r"\b(?:cuts?|cutting|reduc\w+|shorten\w*|improv\w+|lower\w*|br(?:ing|ings|inging|ought)|sav(?:es?|ed|ing)|less"
    r"|fewer|shr[aiu]nk\w*|slash\w*|halv\w+|now|instead|no longer|went|goes)\b"
)
"""Words of a sentence that tells of a change and of no range."""
NORMAL = regex(
    r"(?<![-a-z])(?:normal|reference|range|limits?|interval|norm|target"
    rf"|iqr)(?: [a-z]+){{0,2}}[:,]?(?: from)? {slot('a', VALUE)} ?(?:–|—|-|to) ?{slot('b', VALUE)}(?=[),.;]|$| [a-z])"
)
BETWEEN_YEARS = regex(rf"\bbetween {slot('a', YEAR)} and {slot('b', YEAR)}(?=[ .,;)]|$)")
_INTERVAL = rf"(?:ci|confidence interval)s?,?:?(?: of| was| is|\)|,|:|=)* ?[(\[]?{_A}{_DASH}{_B}"
CI = regex(
    rf"(?:{slot('x', COUNT + UNIT + PERCENT)}(?P<gap>,? ?[(\[]?,? ?)(?:with "
    rf"(?:an? )?)?(?:[{PERCENT}][\ue100-\uf8ff] )?)?{_INTERVAL}"
)
CENTRE = regex(
    rf"\b(?:mean|median|average)(?: [a-z]+){{0,3}}?,? (?:was |is |of "
    rf"|: ?)?{slot('x', COUNT + UNIT)}(?: [a-z]+)?,? ?\((?:range|min[-–]max|interquartile range"
    rf"|iqr)[:,]? ?(?:of |from |was )?{_A}(?:–|—|-| to |, ){_B}"
)
# The centre stands before or behind its range, in words: `averaged 91, ranging from 40 to 85`.
_RANGED = r"(?:rang(?:e|ed|es|ing) (?:from|between|of|was|is)|from a (?:low|minimum) of)"
_X = slot("x", COUNT + UNIT)
CENTRES = [
    regex(
        rf"\b(?:mean|median|average|averaged|averages|averaging)(?: [a-z]+){{0,4}}?,? (?:was |is |of |: ?)?{_X}"
        rf"(?: [a-z]+)?(?:,| and|, and|, with a)?(?: (?:lay|lies|falls|fell|was|is) (?:within|in|inside) (?:an?|the))?"
        rf" ?{_RANGED} {_A}{_DASH}(?:and )?{_B}"
    ),
    regex(
        rf"\b{_RANGED} {_A}(?: to | and |–|-){_B}(?: [a-z]+)?,? (?:with |and )?(?:an? |the )?(?:mean|median|average)"
        rf"(?: [a-z]+)?(?: of| was| is) {_X}"
    ),
]
# What begins comes before what ends.
_BEGIN = r"(?:began|begun|started|opened|founded|born|launched|commenced|established|introduced)"
_END = r"(?:ended|completed|finished|closed|dissolved|died|demolished|concluded|abolished|discontinued)"
ENDED = regex(
    rf"\b{_BEGIN}(?: [a-z]+){{0,2}} (?:in|on) {slot('a', YEAR)}(?: (?:and|but))(?: (?:was|were|it|he|she|they|later"
    rf"|finally)){{0,3}} {_END} (?:in|on) {slot('b', YEAR)}(?=[ .,;)]|$)"
)
BORN = regex(
    rf"\b(?:born|founded|established|launched|formed) (?:in|on) {slot('a', YEAR)},(?: (?!that|which|who|one)[a-z'’-]+)"
    rf"{{0,3}}? (?:died|closed|dissolved|disbanded|folded) (?:in|on) {slot('b', YEAR)}(?=[ .,;)]|$)"
)
_OF = r"(?: (?:of|is|was|at|being|to)|:)?"
LEAST = regex(rf"\b(?:minimum|min\.?|lowest|low|smallest|shortest|least)(?: [a-z]+){{0,2}}?{_OF} {slot('q', VALUE)}")
MOST = regex(
    rf"\b(?:maximum|max\.?|highest|high|largest|peak|longest|greatest|top)(?: [a-z]+){{0,2}}?{_OF} {slot('q', VALUE)}"
)
MEAN = regex(rf"\b(?:mean|median|average|averaged|averaging|avg\.?)(?: [a-z]+){{0,3}}?{_OF} {slot('q', VALUE)}")
DATES = regex(rf"\bfrom {slot('a', DATED)} (?:to|until|till|through) {slot('b', DATED)}")
DAYS = regex(
    rf"\b(?:from|between|of|on) (?:the )?{slot('a', COUNT + ORDINAL)} ?(?:to|until|till|through|and|–|—"
    rf"|-) ?(?:the )?{slot('b', DATED)}"
)
DASHED_DAYS = regex(rf"(?:(?<= )|(?<=\()|^){slot('a', COUNT)}[–—-]{slot('b', DATED)}(?![–—-])")
OF_MONEY = regex(
    rf"(?<!increase )(?<!decrease )(?<!rise )(?<!fall )(?<!drop )(?<!decline )(?<!cut )(?<!reduction )"
    rf"(?<!loss )(?<!losses )(?<!gains )(?<!gain )"
    rf"\b(?:of|costs?|pays?|charges?|paying|costing|priced at"
    rf"|for) {slot('a', MONEY)} to {slot('b', MONEY)}(?! (?:from|by))"
)
BC = regex(r"\b(?:b\.?c|bce|ante|million years|ago|ma\b|before christ)")
SCALED = regex(r",? ?(?:thousand|m(?:il)?ln|million|b(?:il)?ln|billion|hundred|dozen|\d)|, ?[\ue000-\ue009]")
CODE = regex(
    r"\b(?:order|invoice|number|no\.?|id|ref\.?|reference|part|model|serial|case|item|ticket|version"
    r"|code|file|docket|tracking)[ :#]+$",
    re.IGNORECASE,
)
TWO_THINGS = regex(r"(?:difference|gap|ratio|distance|relation\w*|correlation|comparison|choice|contrast)s? $")
TIME_OF_DAY = regex(r" ?(?:[ap]\.?m\b|o.clock)")
OTHER_END = regex(
    r"\b(?:allowed|permitted|legal|recommended|required|limit|possible|average (?:maximum|minimum|high|low)"
    r"|mean (?:maximum"
    r"|minimum)|annual|previous|age|sentence|speed|of the|in (?:january|july)|record|national|while|whereas|but|than)\b"
)
IN_UNITS = regex(r" (?!(?:for|on|in|at|daily|weekdays|every|each|and|or|to|by|from|monday|if|when|only)\b)[a-z]")
REVERSED = regex(
    r"\b(?:reverse|descend|countdown|from top|respectively|down|versus|vs|won|lost|beat|score|defeat|ratio"
    r"|\blows\b|odds|election|vote|fell\b|falls\b|dropped\b|drops\b|cooled\b|cooling\b|declin|decreas)"
)


CUES = (
    "-", "–", "—", " to ", "etween", "ange", "from ", "From ", "age", "Age", "pp.", " CI", "(CI", "nterval",
    "IQR", "iqr",
    "imum", " min", "Min", " low", "Low", "erage", "ean ", "edian", "avg", "ormal", "eference", "imit", "arget", "norm",
    "t least ", "fewer", "ess than", " and was ", " and ended ", " and closed ", " until ", "till ", "through ", "vary",
    "varie", "ended ", "completed ", "finished ", "closed ", "dissolved ", "died ", "demolished ", "concluded ",
    "abolished ", "discontinued ",
)  # fmt: skip
"""A range has one of these: words without their first letter, which may be a capital."""
