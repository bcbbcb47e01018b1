r"""Ratios of two numbers: \`2:1 (40 and 30)\`, \`18 girls and 12 boys, a ratio of 3:2\`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, plain, rules
from numerate.apps.consistency.products.map_scales import map_scales
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import TIMES
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, UNIT, slot
from numerate.apps.consistency.sentences.traits import VALUES

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.findings import Finding

__all__ = ["Ratios"]

_RATIO = regex(
    r"\b(?:ratio|proportions?|mix\w*|odds|margin|split|randomi[sz]ed|allocat\w*|divided|outnumber\w*"
    rf"|by)\b(?P<pre>{NO_NUMBER}{{0,30}}?){slot('a', COUNT)} ?(?::"
    rf"|to) ?{slot('b', COUNT)}(?P<gap>{NO_NUMBER}{{0,20}}?(?:\(|, (?:that is|i\.e\.|or|so|giving|namely),? "
    rf"|: ?)(?:[a-z]+ ){{0,2}}?){slot('c', COUNT + UNIT)}(?P<one>(?: [a-z'’-]+){{0,3}}?),? ?(?:and|to|vs\.?"
    rf"|versus|,|against) ?(?:the )?{slot('d', COUNT + UNIT)}"
)


@rules.register("ratio")
class Ratios(Rule):
    """Two numbers must have the ratio that is said of them."""

    title = "ratio"
    help = "Two numbers do not have the ratio that the text gives them."
    needs = (VALUES[4],)
    least_of_paragraph = 2

    def wants(self, tally: Tally, text: str) -> bool:
        """Two values and their ratio."""
        return tally.values > 3

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares lengths on paper with those in the field."""
        return map_scales(paragraph)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for a ratio and the two numbers behind it."""
        if len(sentence.quantities) < 4 or not _TWO_SIDES.search(sentence.skeleton):
            return
        for match in _RATIO.finditer(sentence.skeleton):
            a, b, c, d = sentence.slots(match, "abcd")
            if min(a.value, b.value, c.value, d.value) <= 0 or not c.comparable(d) or c.hedge or d.hedge or a.hedge:
                continue
            real = c.value / d.value
            given = a.value / b.value
            near = 0.04 + (1 / c.value + 1 / d.value if c.unit is None else 0.0)
            if any(abs(real / each - 1) <= near for each in (given, 1 / given)) or not given / 3 < real < given * 3:
                continue
            message = f"{c.text} and {d.text} are {plain(real)} to 1, not {a.text} to {b.text}."
            yield finding_at("ratio", d, message, meant=c.value / given, others=[a, b, c], probability=0.9)
            return
        yield from _closed_ratio(sentence)
        yield from _odds(sentence)


_TWO_SIDES = regex("[\ue100-\uf8ff] ?(?::|to|-to-) ?[\ue000-\ue009]")
"""What all ratios have; a look for it is cheap."""
_RATIO_OF = regex(
    rf"\b(?:ratio|proportions?|relation|mix(?:ed)?|blend(?:ed)?|dilut\w+)\b(?:[^.;\ue000-\uf8ff]"
    rf"|\.(?=\w)){{0,40}}?{slot('a', COUNT)}"
    rf"(?: ?: ?| to |-to-){slot('b', COUNT)}"
    rf"|\boutnumber\w*\b[^.;:\ue000-\uf8ff]{{0,60}}? by {slot('a3', COUNT)}(?: ?: ?| to |-to-){slot('b3', COUNT)}"
    rf"|{slot('a2', COUNT)}(?: ?: ?| to |-to-){slot('b2', COUNT)} (?:[a-z]+[ -])?(?:[a-z]+ )?(?:ratio|proportion"
    rf"|mix(?:ture)?|split)\b"
)
_OF_SOME = regex(r"; |\b(?:of|among|amongst|out of) (?:the|these|those|its|our)\b|\b(?:but|while|whereas|although)\b")
_NOT_RATIO = regex(r"\b(?:than|respectively|from|increase\w*|rose|fell|previous\w*|national|average|odds|bets?)\b")


_ODDS = regex(rf"\b(?:at|of|to) {slot('a', COUNT)} ?(?:to|-to-|/|:|-) ?{slot('b', COUNT)}")
_STAKE = regex(r"^[ -](?:[a-z]+ )?(?:stake|bet|wager|punt|flutter)\b")
_STAKED = regex(r"\b(?:stake of|bet of|wager of|bet|staked?|staking|wagered|put|risked) $")
_PROFIT_BEHIND = regex(r"^ (?:in |of |as (?:a )?)?(?:net |clear |pure )?(?:profit|winnings)\b")
_PROFIT_BEFORE = regex(r"\b(?:profit|winnings)(?: of| is| was| came to|:)? $")
_EACH_WAY = regex(
    r"\beach[- ]way\b|\btax\b|\bcommission\b|\bstake (?:back|included|returned)\b|\bwith (?:the|his|her) stake\b"
)


def _odds(sentence: Sentence) -> Iterator[Finding]:
    """`At 4 to 1, ... $80 in profit on a $20 stake`: the stake times the odds."""
    skeleton = sentence.skeleton
    money = [each for each in sentence.values if each.group == "money"]
    match = _ODDS.search(skeleton) if len(money) == 2 and len(sentence.values) == 4 else None
    if match is None or _EACH_WAY.search(skeleton):
        return
    a, b = sentence.slots(match, "ab")
    stakes = [each for each in money if _is_told(sentence, each, _STAKED, _STAKE)]
    profits = [each for each in money if _is_told(sentence, each, _PROFIT_BEFORE, _PROFIT_BEHIND)]
    if len(stakes) != 1 or len(profits) != 1 or stakes[0] is profits[0] or min(a.value, b.value) <= 0:
        return
    stake, profit = stakes[0], profits[0]
    real = stake.value * a.value / b.value
    if (
        stake.hedge
        or profit.hedge
        or stake.unit != profit.unit
        or abs(profit.value - real) <= profit.half + 0.01 * real
    ):
        return
    message = f"At {a.text} to {b.text}, {stake.text} win {plain(real)}, not {profit.text}."
    yield finding_at("ratio", profit, message, meant=real, others=[a, b, stake], probability=0.88)


def _is_told(sentence: Sentence, each: Quantity, before: re.Pattern[str], behind: re.Pattern[str]) -> bool:
    """Whether words before or behind an amount say what it is."""
    words = sentence.beside(each)
    return before.search(words[0]) is not None or behind.match(words[1]) is not None


def _closed_ratio(sentence: Sentence) -> Iterator[Finding]:
    """Two numbers and their ratio, in any order: `18 girls and 12 boys, a ratio of 2:1`."""
    skeleton = sentence.skeleton
    match = _RATIO_OF.search(skeleton)
    if match is None or _NOT_RATIO.search(skeleton):
        return
    mark = "" if match["a"] else "2" if match["a2"] else "3"
    a, b = sentence.get(match, f"a{mark}"), sentence.get(match, f"b{mark}")
    if mark == "3" and _OF_SOME.search(skeleton):
        return  # `outnumber men by 2 to 1 in the choir; of the 12 soloists ...`
    others = [each for each in sentence.quantities if each not in (a, b) and each.group not in TIMES]
    if len(others) == 3:
        # The whole may stand beside its parts.
        low, middle, high = sorted(others, key=lambda each: each.value)
        others = [each for each in others if each is not high] if low.value + middle.value == high.value else []
    if len(others) != 2 or not others[0].comparable(others[1]) or min(a.value, b.value) <= 0:
        return
    c, d = others
    if "ratio" in (c.group, d.group) or " of " in sentence.between(c, d):
        return
    if min(c.value, d.value) <= 0 or any(each.hedge for each in (a, b, c, d)):
        return
    real, given = c.value / d.value, a.value / b.value
    near = 0.04 + sum(each.half / each.value for each in (a, b) if each.half < 0.4)
    near += 0.25 / c.value + 0.25 / d.value if c.unit is None else 0.5 * (c.half / c.value + d.half / d.value)
    if any(abs(real / each - 1) <= near for each in (given, 1 / given)) or not (
        given / 3 < real < given * 3 or 1 / given / 3 < real < 3 / given
    ):
        return
    message = f"{c.text} and {d.text} are {plain(max(real, 1 / real))} to 1, not {a.text} to {b.text}."
    yield finding_at("ratio", a, message, others=[b, c, d], probability=0.88)
