"""Sums of sport: `played 22, won 13, drawn 4, lost 7`, and the score of each team with those of its quarters.

The words of a record may stand in any order: `won 62 of his 80 fights, lost 14 and drew 6`; `8 wins and 3 draws from 12
games, unbeaten`; `Of 30 meetings, Rovers won 14, City won 12 and 5 were drawn`.
"""

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

_ANY_GAMES = regex(
    r"\b(?:games?|match(?:es)?|fights?|bouts?|contests|fixtures|outings|encounters|meetings|appearances|tests|starts|duels"
    r"|races|played|met|faced)\b"
)
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


@paragraph_gate(stems("won_ win victor triumph"), stems("lost drew draw los tie stale tying defeat beaten"), VALUES[3])
def match_records(paragraph: Paragraph) -> Iterator[Finding]:
    """Matches played, won, drawn and lost: `played 22, won 13, drawn 4, lost 7`."""
    found_any = not _ANY_GAMES.search(paragraph.lower)
    for record in (_PLAYED, _PLAYED_BEHIND):
        match = record.search(paragraph.lower)
        if match is None:
            continue
        found_any = True
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
    if not found_any:
        yield from _records(paragraph)


_SO_MANY = r"(?: (?:only|just|all|exactly|another))? $"
_GAMES_OF = (
    r"(?:games|matches|fights|bouts|contests|fixtures|outings|encounters|meetings|appearances|tests|starts|duels|races)"
)
_TAGS = (
    ("won", regex(rf"\b(?:won|winning|wins|win){_SO_MANY}"), regex(
        rf" (?:{_GAMES_OF} )?(?:(?:were|was|ended (?:in|with)) )?(?:wins|win|won|victories|victory|triumphs)\b")),
    ("drawn", regex(rf"\b(?:drew|drawing|drawn|draw|tied|tying){_SO_MANY}"), regex(
        rf" (?:{_GAMES_OF} )?(?:(?:were|was|ended|finished|ending) )?(?:in )?(?:an? )?(?:draws?|ties|drawn|tied"
        r"|stalemates)\b")),
    ("lost", regex(rf"\b(?:lost|losing|lose|loses|beaten in|defeated in){_SO_MANY}"), regex(
        rf" (?:{_GAMES_OF} )?(?:(?:were|was|ended in) )?(?:loss|losses|defeats?|lost)\b")),
)  # fmt: skip
"""Words right before and right behind a number that say what it counts."""
_ALL_LEAD = regex(
    r"(?:\b(?:of|in|from|after|over|out of|through|across|played|contested|fought|had|has|met|faced each other)"
    r"(?: (?:the|these|those|its|his|her|their|our|all|only|just|a|total|of|league|career|professional))* ?|^)$"
)
_ALL_TAIL = regex(rf" (?:[a-z-]+ )?{_GAMES_OF}\b|-(?:game|match|fight)\b")
_MET = regex(r"\b(?:met|faced each other|played each other|played one another|faced one another)(?: [a-z]+)? $")
_PLAYED_LEAD = regex(r"\bplayed(?: (?:in|only|just))? $")
_OTHERS = regex(
    r"\b(?:last|past|previous|next|first|opening|final|remaining|home|away|postseason|playoff|since|average\w*|series"
    r"|seasons?|abandon\w*|postpon\w*|void|no[ -]results?|no[ -]contests?|no[ -]decisions?|unfinished|left|to play"
    r"|forfeit\w*|walkovers?|cancel\w*|rained|washed|overtime|shoot-?outs?|between|total of \d+ (?:wins|titles)|if"
    r"|could|would|needs?|titles?|medals?|points per|percent\w*|combined|disqualif\w*|missed|without result)\b|%"
)
_NO_RESULTS = regex(r"\b(?:cricket\w*|twenty20|t20\w*|odis?|one-day|test matches|tests)\b")
"""Games of which some have no result, which is rarely told."""
_NO_DRAWS = regex(
    r"\b(?:basketball|baseball|nba|wnba|mlb|volleyball|tennis|(?:no|without an?y?|never an?y?) (?:draws?|ties?))\b"
)


def _records(paragraph: Paragraph) -> Iterator[Finding]:
    """Records whose words stand in any order, by what is right beside each number of a sentence."""
    tags: dict[int, dict[str, list[Quantity]]] = {}
    for each in paragraph.values:
        if each.group not in ("plain", "other") or each.value != int(each.value) or each.hedge:
            continue
        lead, tail = paragraph.lead(each), paragraph.tail(each)
        name = next((name for name, before, behind in _TAGS if before.search(lead) or behind.match(tail)), None)
        is_all = (_ALL_LEAD.search(lead) and _ALL_TAIL.match(tail)) or (_MET.search(lead) and tail.startswith(" times"))
        if name is None and (is_all or _PLAYED_LEAD.search(lead)):
            name = "all"
        if name is not None:
            tags.setdefault(paragraph.place(each), {}).setdefault(name, []).append(each)
    for place, told in tags.items():
        whole = told.pop("all", [])
        parts = sorted((each for some in told.values() for each in some), key=lambda each: each.start)
        if len(whole) != 1 or not 2 <= len(parts) <= 3 or "won" not in told:
            continue
        if any(len(some) > 1 for name, some in told.items() if name != "won"):
            continue
        if len(told["won"]) > (1 if "lost" in told else 2) or whole[0].value < max(each.value for each in parts):
            continue
        z, real = whole[0], sum(each.value for each in parts)
        words = paragraph.upto(parts[-1]) + paragraph.tail(parts[-1]) + paragraph.tail(z)
        words += paragraph.upto(z)
        is_closed = len(parts) == 3 or "unbeaten" in words or _NO_DRAWS.search(words) is not None
        if "lost" not in told and "unbeaten" not in words and len(told["won"]) < 2:
            continue
        if real == z.value or abs(real - z.value) > max(3, 0.2 * z.value) or (real < z.value and not is_closed):
            continue
        sentence = paragraph.sentences[place][1]
        if real < z.value and _NO_RESULTS.search(sentence):
            continue
        if not _OTHERS.search(words) and not _UNFINISHED.search(sentence):
            yield wrong_sum(z, parts, real, 0.88)


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
