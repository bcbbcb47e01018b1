"""Doses of a treatment and what is handed out: `three times daily for 7 days (12 capsules dispensed)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, UNIT, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["counted_doses"]

_FORM = (
    r"(?P<{}>tablets?|tabs?\b|capsules?|caps?\b|caplets?|vials?|sachets?|pills?|ampoules?|patches|suppositories"
    r"|lozenges"
    r"|doses|drops?|puffs?|tabletten?|kapseln?|comprimés?|gélules?|comprimidos?|cápsulas?)"
)
_DAY = r"(?:daily|a day|per day|every day|each day)"
_COURSE = regex(
    rf"(?:{slot('k', COUNT)} (?:x )?{_FORM.format('one')}(?P<how>{NO_NUMBER}{{0,24}}?),? )?"
    rf"(?:(?:(?P<often>once|twice)|{slot('f', COUNT)} times) {_DAY}|(?P<day>(?:every|each) (?:day|morning|evening"
    rf"|night)"
    rf"|at night|at bedtime|daily)|every {slot('h', UNIT)})"
    rf"(?P<gap>,?{NO_NUMBER}{{0,20}}? for | for | x |, ){slot('d', UNIT)}(?P<mid>[^\ue000-\uf8ff]{{0,64}}?)"
    rf"{slot('n', COUNT)} {_FORM.format('all')}\b(?P<end>[^.;\ue000-\uf8ff]{{0,48}})"
)
_HANDED = regex(
    r"\b(?:dispens\w*|suppl(?:y|ies|ied)|issued|prescrib\w*|handed|given|gave|needed|needs|required|in all"
    r"|in total|total"
    r"|altogether|quantity|qty|mitte|that is|that makes|i\.e|makes|contains?)\b|= ?$"
)
_COMPLETE = regex(
    r"\b(?:complete|whole|full|entire|exact)\b[^.;]{0,12}\b(?:course|treatment|supply|therapy|amount)\b"
    r"|\b(?:exactly|just) enough\b|\blasts? (?:exactly )?(?:the|for)\b"
)
_OTHER = regex(
    r"\b(?:then|taper\w*|as needed|if|prn|up to|packs?|box(?:es)?|maximum|max|when (?:required|needed)|reduc\w*|loading"
    r"|first|spare|extra|left|remain\w*|each|every|days? off|alternate|repeat\w*|also|and|or|plus|of)\b"
)
_HARD = regex(
    r"\b(?:then|taper\w*|as needed|if|prn|up to|packs|boxes|maximum|max|when (?:required|needed)|reduc\w*|loading"
    r"|first|spare"
    r"|extra|left|remain\w*|each|every|days? off|alternate|repeat\w*|also|plus)\b"
)
"""The same words where the course is said to be complete."""
_ONE_EACH = regex(r"\b(?:one|a single [a-z]+) (?:per|each|a|for each|at each) (?:dose|time)\b|\bone (?:per|at a) \w+\b")
MOST_SPARE = 15


@paragraph_gate(
    stems("dail day every each night bedtime"),
    stems("tab cap vial sachet pill ampoule patch suppositor lozenge dose drop puff kapsel comprim gélule cápsula"),
    VALUES[2],
)  # fmt: skip
def counted_doses(paragraph: Paragraph) -> Iterator[Finding]:
    """The number of tablets must be what is taken on all days together."""
    sentence = paragraph.whole
    for match in _COURSE.finditer(sentence.skeleton):
        d, n = sentence.slots(match, "dn")
        days = converted(d.value, d.unit or "", "d")
        if len(days) != 1 or d.unit not in ("d", "week") or d.hedge or n.hedge or n.value != int(n.value):
            continue
        held = match["mid"].rstrip().endswith("(")
        is_one = _ONE_EACH.search(sentence.text.lower()) is not None
        is_complete = _COMPLETE.search(f"{match['mid']}|{match['end']}") is not None
        words = [match[name] or "" for name in ("how", "gap", "mid", "end")]
        is_told = held or is_complete or _HANDED.search(f"{match['mid']}|{match['end']}")
        if any(map((_HARD if is_complete else _OTHER).search, words)) or not is_told:
            continue
        times = _times(sentence, match)
        one = sentence.get(match, "k").value if match["k"] else 1.0
        if match["k"] and match["one"][:3] != match["all"][:3]:
            continue
        real = times * round(days[0], 6) * one
        if real < 2 or n.value == real or not 0.3 < n.value / real < 3 or not times:
            continue
        if not (match["k"] or is_one) and (n.value > real or real % n.value == 0):
            continue  # two at a time, or half of one
        if 0 < n.value - real < MOST_SPARE and (n.value % 10 == 0 or n.value % 14 == 0) and not slip_bits(n, real):
            continue  # a pack
        message = f"{plain(times * one)} a day for {d.text} are {plain(real)}, not {n.text}."
        others = [sentence.get(match, name) for name in "kfhd" if match[name]]
        yield finding_at("product", n, message, meant=real, others=others, probability=0.86)


def _times(sentence: Sentence, match: re.Match[str]) -> float:
    """How often a day; 0 if that is no whole number."""
    if match["h"]:
        hours = converted(sentence.get(match, "h").value, sentence.get(match, "h").unit or "", "h")
        return 24 / hours[0] if len(hours) == 1 and hours[0] and 24 % hours[0] == 0 else 0.0
    if match["f"]:
        return sentence.get(match, "f").value
    return 2.0 if match["often"] == "twice" else 1.0
