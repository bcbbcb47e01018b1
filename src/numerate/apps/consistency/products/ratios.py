r"""Ratios of two numbers: \`2:1 (40 and 30)\`, \`18 girls and 12 boys, a ratio of 3:2\`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, plain, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import TIMES
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, UNIT, slot
from numerate.apps.consistency.sentences.traits import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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

    def wants(self, tally: Tally, text: str) -> bool:
        """Two values and their ratio."""
        return tally.values > 3

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


_TWO_SIDES = regex("[\ue100-\uf8ff] ?(?::|to|-to-) ?[\ue000-\ue009]")
"""What all ratios have; a look for it is cheap."""
_RATIO_OF = regex(
    rf"\b(?:ratio|proportions?|relation|mix(?:ed)?|blend(?:ed)?|dilut\w+)\b(?:[^.;\ue000-\uf8ff]"
    rf"|\.(?=\w)){{0,40}}?{slot('a', COUNT)}"
    rf"(?: ?: ?| to |-to-){slot('b', COUNT)}"
    rf"|{slot('a2', COUNT)}(?: ?: ?| to |-to-){slot('b2', COUNT)} (?:[a-z]+[ -])?(?:[a-z]+ )?(?:ratio|proportion"
    rf"|mix(?:ture)?|split)\b"
)
_NOT_RATIO = regex(r"\b(?:than|respectively|from|increase\w*|rose|fell|previous\w*|national|average|odds|bets?)\b")


def _closed_ratio(sentence: Sentence) -> Iterator[Finding]:
    """Two numbers and their ratio, in any order: `18 girls and 12 boys, a ratio of 2:1`."""
    skeleton = sentence.skeleton
    match = _RATIO_OF.search(skeleton)
    if match is None or _NOT_RATIO.search(skeleton):
        return
    mark = "" if match["a"] else "2"
    a, b = sentence.get(match, f"a{mark}"), sentence.get(match, f"b{mark}")
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
