"""Patterns of differences, durations, ages and margins, over the skeletons of sentences."""

from __future__ import annotations

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import CLOCK, COUNT, DATED, NO_NUMBER, ORDINAL, TIME, UNIT, YEAR, slot

__all__ = ["CLOCKS", "LIVES", "SCORES"]

_A, _B, _D = slot("a", TIME), slot("b", TIME), slot("d", UNIT)
_NO_TIME = rf"[^{YEAR}{DATED}.;]"
_DASHED = rf"\({_A} ?[–—-] ?{_B}\)"
_AGED = r"(?:at the age of|aged|at age|at)"
LIVES = [
    (("turned",), regex(
        rf"\b(?:born|released|founded|opened|built|launched|established|formed|made) in {_A}"
        rf"(?P<between>{_NO_TIME}{{0,40}}?)\bturn(?:ed|s) {slot('d', COUNT)} in {_B}")),
    (("dying", "died", "dies"), regex(
        rf"\bfrom {_A} to {_B},? (?:and |when [a-z]+ )?(?:dying|died|dies) {_AGED} {slot('d', COUNT)}")),
    (("founded", "established"), regex(
        rf"\b(?:founded|established) in {_A}(?P<between>{_NO_TIME}{{0,40}}?)\bfor {_D} (?:as of|in"
        rf"|by|until) {_B}")),
    (("died",), regex(
        rf"\bborn(?: on| in| [a-z]+){{1,4}} {_A}(?P<between>{_NO_TIME}{{0,60}}?)\bdied(?: on| in"
        rf"| [a-z]+){{1,4}} {_B}(?:,| [a-z ]{{0,20}})? ?{_AGED} {slot('d', COUNT)}(?! [a-z]*\.?m\b)")),
    (("born",), regex(
        rf"\bborn(?: on| in| [a-z]+){{1,4}} {_A}(?P<between>{_NO_TIME}{{0,60}}?)\b(?:was|will be|will turn|turns"
        rf"|would be|(?:at the )?age of|aged"
        rf"|at age|died at|at) {slot('d', COUNT)}(?: years old)?(?: when [a-z ]{{1,30}}?)? (?:in|on) {_B}")),
    (("old in", "old on"), regex(
        rf"\b(?:opened|built|founded|established|completed|launched|erected|planted|formed|created) (?:in|on) {_A}"
        rf"(?P<between>(?:(?! its | his | her | their | whose ){_NO_TIME}){{0,60}}?)\b"
        rf"(?:is|was|will be|are|were|became) {_D}[ -]old (?:in|on) {_B}")),
    (("-old",), regex(
        rf"{slot('d', UNIT)}-old(?P<between>{_NO_TIME}{{0,60}}?)\bborn (?:on |in )?{_A}"
        rf"{_NO_TIME}{{0,80}}? (?:on|in) {_B}")),
    (("died",), regex(rf"{_DASHED}[a-z ]{{0,12}}died (?:at the age of|aged|at age) {slot('d', COUNT)}")),
    (("anniversary", "birthday"), regex(
        rf"\b(?:founded|established|opened|born|formed|incorporated|launched) (?:in"
        rf"|on) {_A}(?P<between>{_NO_TIME}{{0,50}}?)\b(?:its|the|their|his"
        rf"|her) {slot('d', ORDINAL)} (?:anniversary|birthday)(?: [a-z]+){{0,2}} in {_B}")),
]  # fmt: skip
CLOCKS = [
    regex(
        rf"{slot('a', CLOCK)}(?P<between>(?:[a-z ,'’–—=:-]|(?<=\barr)\.){{0,40}}?)"
        rf"{slot('b', CLOCK)}(?P<gap>[a-z ,('’=:–-]{{0,45}}?){_D}"
        rf"(?! (?:before|after|behind|ahead|ago|earlier|break|away|notice|delay|late\b))"
    ),
    regex(
        rf"{_D}[ -](?:[a-z]+ ){{0,2}}?(?:trip|journey|ride|drive|crossing|session|meeting|class|film|show|concert"
        rf"|lecture|exam"
        rf"|course|shift|walk|tour|event"
        rf"|hearing)\b(?P<gap>)[a-z ,]{{0,30}}?{slot('a', CLOCK)}(?P<between>[a-z ,–—-]{{1,40}}?)"
        rf"{slot('b', CLOCK)}"
    ),
    regex(
        rf"\b(?:for|lasts|lasted|took|takes|an?|the|open|works?) {_D}(?P<gap>[a-z ,('’=:-]{{0,30}}?)\b(?:from|between) "
        rf"{slot('a', CLOCK)}(?P<between> (?:to|until|till|and) |[–-]){slot('b', CLOCK)}"
    ),
    # `Travel time: 5 hours (08:00 to 12:00)`
    regex(
        rf"\b(?:time|duration|length|shift|lasts|lasted|takes|took|lasting|taking)(?::| is| was| of)? {_D} ?[(,]"
        rf"(?P<gap> ?(?:from )?){slot('a', CLOCK)}(?P<between> (?:to|until|till) | ?[–-] ?){slot('b', CLOCK)}"
    ),
    # `The journey time is 3 h 15 min: the train departs at 08:05 and arrives at 12:20.`
    regex(
        rf"\b(?:time|duration|length)(?::| is| was| of)? {_D}(?P<gap>)[:;,] [a-z ]{{0,24}}?\b(?:depart\w*"
        rf"|leav\w+|left|start\w*|beg[aiu]n\w*|sail\w*|sets? off|opens?)(?: at)? "
        rf"{slot('a', CLOCK)}(?P<between>[a-z ,]{{1,40}}?)"
        rf"{slot('b', CLOCK)}(?=[.;)]|$)"
    ),
]
_S, _T, _M = slot("a", COUNT), slot("b", COUNT), slot("d", COUNT)
_SCORE = rf"(?<![–—-]){_S} ?[–—-] ?{_T}(?! ?[–—-])"
_UNITS = r"(?:points?|goals?|runs?|votes?|seats?|strokes?|shots?|games?|sets?|frames?|wickets?)"
_RESULT = r"(?:win|victory|loss|defeat|lead|margin|majority|advantage|triumph|deficit)"
SCORES = [
    regex(rf"{_SCORE}(?:,| \(|,? (?:for|with|giving [a-z]+)) ?(?:an? )?{_M}[ -]{_UNITS} {_RESULT}"),
    regex(
        rf"{_SCORE}{NO_NUMBER}{{0,30}}?(?:,| -| –|\(| by| with| for|:) ?(?:an? |the )?(?:[a-z]+ )?"
        rf"(?:margin|lead|majority|advantage|difference|deficit|gap) of {_M}(?: {_UNITS})?(?=[ .,;)]|$)"
    ),
    regex(rf"{_SCORE}, (?:(?:winning|losing|won|lost|a (?:win|victory|defeat)) (?:it )?)?by {_M} {_UNITS}"),
    regex(rf"\b(?:won|lost|win|victory|beat{NO_NUMBER}{{1,40}}?|defeated{NO_NUMBER}{{1,40}}?) by "
               rf"(?:a margin of )?{_M} {_UNITS}(?:,| \(|: ?| with a score of) ?{_SCORE}"),
    # `led by four, 16-12`: the score stands for what was said.
    regex(
        rf"\b(?:leads?|leading|led|ahead|trail(?:s|ed|ing)?|won|wins|lost|loses|behind) by {_M}(?: {_UNITS})?"
        rf"(?:,| at| \(| –) ?{_SCORE}(?=[.,;)]|$)"
    ),
    regex(rf"\ban? {_M}[ -]{_UNITS} {_RESULT}{NO_NUMBER}{{0,12}}?(?:,| \() ?{_SCORE}"),
    regex(
        rf"{_S}(?: votes)? (?:votes )?to {_T}(?: votes)?,? (?:with |by )?an? (?:margin|majority|lead|difference)"
        rf" of {_M}(?=[ .,;)]|$)"
    ),
]  # fmt: skip
