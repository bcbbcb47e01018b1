"""Doses of a treatment and what is handed out: `three times daily for 7 days (12 capsules dispensed)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import sentence_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, UNIT, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["counted_doses"]

_FORM = r"(?P<{}>tablets?|capsules?|caplets?|vials?|sachets?|pills?|ampoules?|patches|suppositories|lozenges|doses)"
_COURSE = regex(
    rf"(?:{slot('k', COUNT)} {_FORM.format('one')}(?P<how>{NO_NUMBER}{{0,24}}?) )?"
    rf"(?:(?P<often>once|twice)|{slot('f', COUNT)} times) (?:daily|a day|per day|every day|each day)"
    rf"(?P<gap>{NO_NUMBER}{{0,20}}? for | for | x ){slot('d', UNIT)}(?P<mid>[^.\ue000-\uf8ff]{{0,24}}?)"
    rf"{slot('n', COUNT)} {_FORM.format('all')}\b(?P<end>[^.;\ue000-\uf8ff]{{0,40}})"
)
_HANDED = regex(r"\b(?:dispens\w*|suppl(?:y|ied)|issued|prescrib\w*|handed|needed|required|in all|in total|total)\b")
_OTHER = regex(
    r"\b(?:then|taper\w*|as needed|if|prn|up to|packs?|box(?:es)?|maximum|max|when (?:required|needed)|reduc\w*|loading"
    r"|first|spare|extra|left|remain\w*|each|every|days? off|alternate|repeat\w*|also|and|or|plus|of)\b"
)
_ONE_EACH = regex(r"\b(?:one|a single [a-z]+) (?:per|each|a|for each|at each) (?:dose|time)\b|\bone (?:per|at a) \w+\b")
MOST_SPARE = 15


@sentence_gate(stems("dail day"), stems("tablet capsule caplet vial sachet pill ampoule patch suppositor lozenge dose"),
               VALUES[2])  # fmt: skip
def counted_doses(sentence: Sentence) -> Iterator[Finding]:
    """The number of tablets must be what is taken on all days together."""
    skeleton = sentence.skeleton
    for match in _COURSE.finditer(skeleton):
        d, n = sentence.slots(match, "dn")
        days = converted(d.value, d.unit or "", "d")
        if len(days) != 1 or d.hedge or n.hedge or n.value != int(n.value):
            continue
        held = match["mid"].rstrip().endswith("(")
        is_one = _ONE_EACH.search(sentence.text.lower()) is not None
        words = [match[name] or "" for name in ("how", "gap", "mid", "end")]
        if any(map(_OTHER.search, words)) or not (held or _HANDED.search(f"{match['mid']}|{match['end']}")):
            continue
        times = {"once": 1.0, "twice": 2.0}[match["often"]] if match["often"] else sentence.get(match, "f").value
        one = sentence.get(match, "k").value if match["k"] else 1.0
        if match["k"] and match["one"][:4] != match["all"][:4]:
            continue
        real = times * round(days[0], 6) * one
        if real < 2 or n.value == real or not 0.3 < n.value / real < 3:
            continue
        if not (match["k"] or is_one) and (n.value > real or real % n.value == 0):
            continue  # two at a time, or half of one
        if 0 < n.value - real < MOST_SPARE and (n.value % 10 == 0 or n.value % 14 == 0):
            continue  # a pack
        message = f"{plain(times * one)} a day for {d.text} are {plain(real)}, not {n.text}."
        yield finding_at("product", n, message, meant=real, others=[d], probability=0.86)
