"""Sums of sport: `played 22, won 13, drawn 4, lost 7`, and the score of each team with those of its quarters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["line_scores", "match_records"]

_UNFINISHED = regex(r"abandon|postpon|\bvoid|no result|unfinished|remain|\bleft\b|to play|forfeit|walkover|cancel")
_GAMES = (
    r"(?: (?:games|matches|of them|times|fixtures|bouts|fights|rounds))?(?:,| and|;|, and| but) "
    r"(?:they |we |he |she |it )?(?:have |has |had )?"
)
_PLAYED = regex(
    r"\bplayed (?P<n>\d{1,3})"
    + _GAMES
    + r"won (?P<a>\d{1,3})"
    + _GAMES
    + r"(?:lost|drew|drawn|tied) (?P<b>\d{1,3})"
    + r"(?:"
    + _GAMES
    + r"(?:lost|drew|drawn|tied) (?P<c>\d{1,3}))?"
)
_PLAYED_BEHIND = regex(
    r"\b(?:won|winning) (?P<a>\d{1,3})"
    + _GAMES
    + r"(?:lost|drew|drawn|drawing|losing|tied) (?P<b>\d{1,3})"
    + _GAMES
    + r"(?:lost|drew|drawn|drawing|losing|tied) (?P<c>\d{1,3})(?: of| from| in|,? out of)(?: (?:the"
    r"|their|its|his|her|our|all))? (?P<n>\d{1,3}) (?:games|matches|played|fixtures|fights|bouts)"
)


@paragraph_gate(stems("won_ winning"), stems("lost drew draw los tied"), VALUES[3])
def match_records(paragraph: Paragraph) -> Iterator[Finding]:
    """Matches played, won, drawn and lost: `played 22, won 13, drawn 4, lost 7`."""
    for record in (_PLAYED, _PLAYED_BEHIND):
        match = record.search(paragraph.lower)
        if match is None:
            continue
        starts = {match.start(name) + paragraph.whole.offset: name for name in ("n", "a", "b", "c") if match[name]}
        found = {starts[each.start]: each for each in paragraph.values if each.start in starts}
        if "n" not in found or len(found) < len(starts):
            continue
        total, parts = found["n"], [each for name, each in sorted(found.items()) if name != "n"]
        whole = sum(each.value for each in parts)
        if _UNFINISHED.search(paragraph.lower, match.end(), match.end() + 90):
            continue
        if whole != total.value and 0.5 < whole / total.value < 2 and not (len(parts) == 2 and whole < total.value):
            yield wrong_sum(total, parts, whole, 0.88)


_ITEM = regex(r" ?(?:,|-|–|/|\||;|,? and|, and) ?| ")
_NAME = regex(r"([a-z][a-z.'’-]*)(?:,? (?:had|scored|got|put up|made|posted|with|won|by|the|a|on))*[ :(]+$")
_NO_NAME = frozenset(
    ["and", "was", "were", "had", "with", "the", "for", "from", "score", "scores", "points", "than", "by"]
)


def line_scores(paragraph: Paragraph) -> Iterator[Finding]:
    """Totals by name with a list for each name: `Hawks 102, Comets 99 ... the Hawks had 24, 31, 19 and 28`."""
    values = [each for each in paragraph.values if each.group == "plain" and each.value == int(each.value)]
    runs: list[list[Quantity]] = []
    for each in values:
        if runs and _ITEM.fullmatch(paragraph.between(runs[-1][-1], each)):
            runs[-1].append(each)
        else:
            runs.append([each])
    lists, totals = {}, {}
    if sum(len(run) > 2 for run in runs) < 2:
        return
    for run in runs:
        name = _NAME.search(paragraph.lead(run[0]))
        if name is None or name[1] in _NO_NAME:
            continue
        (lists if len(run) > 2 else totals if len(run) == 1 else {}).setdefault(name[1], run)
    both = [(totals[name][0], parts) for name, parts in lists.items() if name in totals]
    for z, parts in both if len(both) > 1 else ():
        real = sum(each.value for each in parts)
        held = sum(total.value == sum(part.value for part in other) for total, other in both if total is not z)
        if real == z.value or not 0.6 < z.value / real < 1.67 or not (held or slip_bits(z, real) > 4):
            continue
        yield wrong_sum(z, parts, real, 0.88)
