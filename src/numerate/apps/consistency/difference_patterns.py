"""Patterns of differences, durations, ages and margins, over the skeletons of sentences."""

from __future__ import annotations

import re

from numerate.apps.consistency.quantities import CLOCK, COUNT, DATED, MONEY, ORDINAL, UNIT, YEAR, one, slot

__all__ = ["BEGUN_AND_ENDED", "CHANGES", "CLOCKS", "DURATIONS", "LIVES", "SCORES"]

_TIME = YEAR + DATED
_A, _B, _D = slot("a", _TIME), slot("b", _TIME), slot("d", UNIT)
_UNTIL = r"(?:to|until|till|through|–|-|—)"
_SPAN = rf"(?:from|between) (?:the )?{_A} (?:{_UNTIL}|and) (?:the )?{_B}"
_NO_TIME = rf"[^{YEAR}{DATED}.;]"
_DASHED = rf"\({_A} ?[–—-] ?{_B}\)"
DURATIONS = [
    (("(",), re.compile(rf"{_DASHED} (?:lasted|ran|took|reigned|ruled)(?: for)? {_D}")),
    # `from 1990 to 2005, 25 years in all`: the words behind the number say that it is the whole span.
    (("from ", "between "), re.compile(
        rf"{_SPAN},? (?:or |a total of |a period of |a span of |a reign of "
        rf"|for a total of ){{0,2}}{_D}(?P<tail> in all| in total| altogether|(?=[.;)]|$))")),
    (("from ", "between "), re.compile(
        rf"{_SPAN}(?:,| [a-z ]{{0,30}}?) (?:a period of|a total of|a span of|for a total of) {_D}")),
    (("from ", "between "), re.compile(
        rf"{_SPAN}(?:,| [a-z ,]{{0,30}}?) (?:lasted|lasting|an? [a-z]+ of|an? (?:[a-z]+ )?{_D} (?:reign|period|span"
        rf"|career|tenure|stretch|spell|run|term))(?: for)? ?{slot('d2', UNIT)}?(?=[ .,;)]|$)")),
    (("from ",), re.compile(
        rf"\b(?:lasted|lasting|ruled|reigned|ran|runs|served|serving|period of|spanned|spanning|after|took|spent|for"
        rf"|worked|lived|term of|career of|reign of|tenure of|span of)(?: for)? {_D}(?: [a-z]+){{0,4}}?,? "
        rf"from {_A} {_UNTIL} {_B}")),
    (("(",), re.compile(
        rf"\b(?:for|lasted|reigned|ruled|spent|served|took|(?:career|reign|tenure|span|term|period) of) "
        rf"{_D},? {_DASHED}")),
    (("(",), re.compile(rf"\ban? {_D} (?:[a-z]+ )?(?:career|reign|tenure|span|term|period|run|war) {_DASHED}")),
    ((" later",), re.compile(rf"\b(?:in|on) {_A}(?P<between>{_NO_TIME}{{0,60}}?) {_D} later,? (?:in|on) {_B}")),
]  # fmt: skip
# Two times, each with a verb of its own, and how long it was: `began in 1902 and ended in 1911, eleven years later`.
BEGUN_AND_ENDED = [
    ((" later", " afterwards", " after "), re.compile(
        rf"\b(?:in|on|since|from) {_A}(?P<between>{_NO_TIME}{{0,60}}?)\b(?:in|on|until) {_B}(?:,| -| –|\(| \()?"
        rf" ?(?:(?:only|just|exactly|some|fully) )?{_D} (?:later|afterwards)\b")),
    ((" after ",), re.compile(
        rf"\b(?:opened|founded|began|started|joined|established|launched|built|born|appointed|elected)(?:"
        rf" [a-z]+){{0,4}}?"
        rf" (?:in|on) {_A}(?P<between>{_NO_TIME}{{0,40}}?)\b(?:closed|ended|left|retired|finished|dissolved|resigned"
        rf"|stepped down|completed|demolished)(?: [a-z]+){{0,2}}? (?:in|on) {_B},? after {_D}(?=[.,;)]|$| of| in)")),
    (("began", "started", "opened", "begun", "founded"), re.compile(
        rf"\b(?:began|started|opened|begun|founded|commenced)(?: [a-z]+){{0,3}}? (?:in|on) {_A}"
        rf"(?P<between>{_NO_TIME}{{0,40}}?)\b(?:ended|finished|completed|closed|concluded|dissolved|lasted"
        rf"|continued|ran|stayed|served)(?: [a-z]+){{0,2}}? (?:in|on|until|till) {_B},? (?:(?:and |which"
        rf" )?(?:took|lasted|lasting|taking|a (?:span|period|total) of"
        rf"|having (?:lasted|taken)|after) )?{_D}(?=[.,;)]|$| in all| in total| altogether)")),
]  # fmt: skip
_AGED = r"(?:at the age of|aged|at age|at)"
LIVES = [
    (("turned",), re.compile(
        rf"\bborn in {_A}(?P<between>{_NO_TIME}{{0,40}}?)\bturned {slot('d', COUNT)} in {_B}")),
    (("dying", "died", "dies"), re.compile(
        rf"\bfrom {_A} to {_B},? (?:and |when [a-z]+ )?(?:dying|died|dies) {_AGED} {slot('d', COUNT)}")),
    (("founded", "established"), re.compile(
        rf"\b(?:founded|established) in {_A}(?P<between>{_NO_TIME}{{0,40}}?)\bfor {_D} (?:as of|in"
        rf"|by|until) {_B}")),
    (("died",), re.compile(
        rf"\bborn(?: on| in| [a-z]+){{1,4}} {_A}(?P<between>{_NO_TIME}{{0,60}}?)\bdied(?: on| in"
        rf"| [a-z]+){{1,4}} {_B}(?:,| [a-z ]{{0,20}})? ?{_AGED} {slot('d', COUNT)}(?! [a-z]*\.?m\b)")),
    (("born",), re.compile(
        rf"\bborn(?: on| in| [a-z]+){{1,4}} {_A}(?P<between>{_NO_TIME}{{0,60}}?)\b(?:was|(?:at the )?age of|aged"
        rf"|at age|died at|at) {slot('d', COUNT)}(?: years old)?(?: when [a-z ]{{1,30}}?)? (?:in|on) {_B}")),
    (("died",), re.compile(rf"{_DASHED}[a-z ]{{0,12}}died (?:at the age of|aged|at age) {slot('d', COUNT)}")),
    (("anniversary", "birthday"), re.compile(
        rf"\b(?:founded|established|opened|born|formed|incorporated|launched) (?:in"
        rf"|on) {_A}(?P<between>{_NO_TIME}{{0,50}}?)\b(?:its|the|their|his"
        rf"|her) {slot('d', ORDINAL)} (?:anniversary|birthday)(?: [a-z]+){{0,2}} in {_B}")),
]  # fmt: skip
CLOCKS = [
    re.compile(
        rf"{slot('a', CLOCK)}(?P<between>[a-z ,'’-]{{0,40}}?){slot('b', CLOCK)}(?P<gap>[a-z ,('’–-]{{0,45}}?){_D}"
        rf"(?! (?:before|ago|earlier|break|away|notice|delay|late\b))"
    ),
    re.compile(
        rf"\b(?:for|lasts|lasted|took|takes|an?|the|open|works?) {_D}(?P<gap>[a-z ,('’-]{{0,30}}?)\b(?:from|between) "
        rf"{slot('a', CLOCK)}(?P<between> (?:to|until|till|and) |[–-]){slot('b', CLOCK)}"
    ),
]
_VALUE = COUNT + MONEY + UNIT
_X, _Y, _C = slot("a", _VALUE), slot("b", _VALUE), slot("d", _VALUE)
# Words of the things that are counted, and when that was: `from 12 members in 1990 to 15 members`.
_WORDS = rf"(?: (?:[a-z/]+|{one(YEAR + DATED)})){{0,4}}?"
_KIND = (
    r"(?:increase|rise|gain|jump|improvement|growth|decline|drop|decrease|fall|reduction|loss|cut|difference"
    r"|swing|widening|gap|climb|dip|surge|change|saving|advance|slide|shift)"
)
_MOVED = (
    r"(?:fell|fallen|dropped|drops?|declined|rose|risen|grew|grown|increased|climbed|decreased|gained|lost|jumped|sank"
    r"|slipped|advanced|shrank|shed|added|improved|up|down|plunged|raised|lowered|cut|reduced|warmed|cooled)"
)
_POINTS = r"(?: (?:percentage )?[a-z]+){0,2}?"
CHANGES = [
    (("between ",), re.compile(
        rf"\b(?:difference|gap|distance|spread) between (?:the |an? )?{_X}{_WORDS} and (?:the |an?"
        rf" )?{_Y}{_WORDS} (?:is|was|equals|of"
        rf"|amounts to) {_C}")),
]  # fmt: skip
_S, _T, _M = slot("a", COUNT), slot("b", COUNT), slot("d", COUNT)
_SCORE = rf"(?<![–—-]){_S} ?[–—-] ?{_T}(?! ?[–—-])"
_UNITS = r"(?:points?|goals?|runs?|votes?|seats?|strokes?|shots?|games?|sets?|frames?|wickets?)"
_RESULT = r"(?:win|victory|loss|defeat|lead|margin|majority|advantage|triumph|deficit)"
_NO_NUMBER = r"[^.;\ue000-\uf8ff]"
SCORES = [
    re.compile(rf"{_SCORE}(?:,| \(|,? (?:for|with|giving [a-z]+)) ?(?:an? )?{_M}[ -]{_UNITS} {_RESULT}"),
    re.compile(
        rf"{_SCORE}{_NO_NUMBER}{{0,30}}?(?:,| -| –|\(| by| with| for|:) ?(?:an? |the )?(?:[a-z]+ )?"
        rf"(?:margin|lead|majority|advantage|difference|deficit|gap) of {_M}(?: {_UNITS})?(?=[ .,;)]|$)"
    ),
    re.compile(rf"{_SCORE}, (?:(?:winning|losing|won|lost|a (?:win|victory|defeat)) (?:it )?)?by {_M} {_UNITS}"),
    re.compile(rf"\b(?:won|lost|win|victory|beat{_NO_NUMBER}{{1,40}}?|defeated{_NO_NUMBER}{{1,40}}?) by "
               rf"(?:a margin of )?{_M} {_UNITS}(?:,| \(|: ?| with a score of) ?{_SCORE}"),
    re.compile(rf"\ban? {_M}[ -]{_UNITS} {_RESULT}{_NO_NUMBER}{{0,12}}?(?:,| \() ?{_SCORE}"),
    re.compile(
        rf"{_S}(?: votes)? (?:votes )?to {_T}(?: votes)?,? (?:with |by )?an? (?:margin|majority|lead|difference)"
        rf" of {_M}(?=[ .,;)]|$)"
    ),
]  # fmt: skip
