"""Sums in sentences: `12 men and 15 women, 28 people in all`, `nine members: four ..., three ... and one ...`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, plain, rules
from numerate.apps.consistency.percents.closed_changes import closed_stock
from numerate.apps.consistency.sentences.joined_sentences import of_one_kind, without_adjuncts, without_held_shares
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, COUNT, ORDINAL, one, slot
from numerate.apps.consistency.sentences.traits import VALUES, cues, stems
from numerate.apps.consistency.sums.added_fees import added_fees, change_given
from numerate.apps.consistency.sums.clock_sums import clock_sums
from numerate.apps.consistency.sums.closed_counts import closed_added, closed_minus, closed_rest
from numerate.apps.consistency.sums.closed_totals import closed_opposites, closed_total
from numerate.apps.consistency.sums.equations import wrong_equations
from numerate.apps.consistency.sums.exclusive_parts import are_proper, exclusive, is_one_noun
from numerate.apps.consistency.sums.far_rests import far_rests, mixed_sums
from numerate.apps.consistency.sums.golf_scores import golf_scores
from numerate.apps.consistency.sums.listed_parts import listed_parts
from numerate.apps.consistency.sums.lists_before import children_before, lists_before
from numerate.apps.consistency.sums.paragraph_sums import paragraph_sums
from numerate.apps.consistency.sums.parts import totals_of
from numerate.apps.consistency.sums.set_scores import set_scores
from numerate.apps.consistency.sums.stated_results import stated_results
from numerate.apps.consistency.sums.stock_accounts import stock_accounts
from numerate.apps.consistency.sums.sum_rounding import another_sum, has_more_parts, rounding, slack_of
from numerate.apps.consistency.sums.votes import votes
from numerate.apps.consistency.wrong import wrong_sum
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Sums"]

_DASH = regex(r" ?[-–—:] ?")
_MIXED = (
    "in all", "all in", "all told", "altogether", "in total", "together", "total", "adds up", "came to", "comes to",
    "making", "makes", "combined",
)  # fmt: skip
_Q = one(AMOUNT)
_WORD = rf"(?:[a-z$€£][a-z$€£'’.\-]*|{one(ORDINAL)})"
_WORDS = rf"(?: (?!and |or |plus ){_WORD}){{0,5}}?"
_NOUN = rf"(?: (?!and |or |plus ){_WORD}){{1,5}}?"
_AND = r"(?:,? and|, plus|,? plus|;|,)"
_PARTS = rf"(?P<parts>{_Q}{_WORDS}(?:{_AND} {_Q}{_WORDS}){{1,9}}?)"
# Items may have their number at the end: `labour €7.3 million, materials €4.2 million`.
_ITEMS = rf"(?P<parts>(?:{_WORD} ){{0,3}}{_Q}{_WORDS}(?:{_AND} (?:{_WORD} ){{0,3}}{_Q}{_WORDS}){{1,9}}?)"
# Behind a semicolon, something else is told: `£430, of which £30 cash; withdrawals £615`.
_ITEMS_OF = _ITEMS.replace("|;|,)", "|,)")
_TOTAL = slot("total", AMOUNT)
_REST_Q = rf" ?{_Q}"

_AFTER = [
    (('assist',), regex(rf"(?P<parts>{_Q} goals? and {_Q} assists?) for (?:a total of )?{_TOTAL} points")),
    (('wins',), regex(
        rf"(?P<parts>{_Q} wins?, {_Q} (?:loss(?:es)?|defeats?|draws?|ties)(?:,? and|,) {_Q} (?:loss(?:es)?"
        rf"|defeats?|draws?|ties))"
               rf" (?:from|in) (?:its |their |his |her |the )?{_TOTAL} (?:matches|games)")),
    (('won ',), regex(
        rf"(?P<parts>won {_Q}(?: games| matches)?, (?:drew|tied|lost) {_Q},? and (?:drew|tied|lost) {_Q}) (?:of"
        rf"|from) "
               rf"(?:its |their |his |her |the )?{_TOTAL} (?:matches|games)")),
]  # fmt: skip
_BEFORE = [
    (('leaving', ' left', 'remain'), regex(
        rf"\b(?:of|out of|from) (?:the |its |their |these |all )?(?:original )?{_TOTAL}{_NOUN}(?: [a-z]+){{0,2}}?, "
        rf"(?P<parts>{_Q}(?: {_WORD}){{1,6}}?,? (?P<sure>leaving|which left) {_Q})"
        rf"(?: [a-z]+){{0,3}}?(?=[.;),]|$| (?:left|remain))")),
    (('split',), regex(
        rf"{_TOTAL} (?:seats|votes|delegates|members)(?: [a-z]+){{0,5}} (?:are|were"
        rf"|was) split (?P<parts>{_Q} to {_Q})")),
]  # fmt: skip
_EQUAL = (*_AFTER, *_BEFORE)
_EQUAL_CUES = stems("assist win split_ leaving_ left_") | cues("won ")
"""What a match of `_EQUAL` has in it."""
# Two parts that exclude each other: `15 people, 9 women and 5 men`.
_OPPOSED = [
    # `the class of 28 has 15 boys and 14 girls`
    (
        (" of ",),
        regex(
            rf"\b[a-z]+ of {_TOTAL}(?: [a-z]+)? (?:has|had|includes|included|with|contains|counts) "
            rf"(?P<parts>{_Q}{_WORDS},? and {_Q}{_WORDS})(?=[.;)]|$)"
        ),
    ),
    ((", ",), regex(rf"{_TOTAL}{_NOUN}, (?P<parts>{_Q}{_WORDS},? and {_Q}{_WORDS})(?=[.;)]|$)")),
]
_AT_MOST = [
    ((", of wh",), regex(rf"{_TOTAL}{_WORDS}, of wh(?:ich|om) {_ITEMS_OF}(?=[.;)]|$)")),
    # `we enrolled 240 adults; 118 were assigned to the drug and 132 to placebo`
    ((" assigned ", " allocated ", " received ", " randomi"), regex(
        rf"{_TOTAL}{_NOUN}(?: [a-z]+){{0,3}}?[;,:] (?:and )?{_PARTS}(?=[.;)]|$)")),
    # `the 10-member board has six executive and five independent directors`
    (("-member", "-person", "-man ", "-strong", "-seat", "-player", "-piece", "-bed", "-room",
      "-car ", "-team"), regex(
        rf"{_TOTAL}-(?:member|person|man|strong|seat|player|piece|bed|room|car|team)(?: [a-z]+){{1,3}}? (?:has|had"
        rf"|includes|included|of|contains|counts|with) {_PARTS}(?=[.;)]|$)")),
    # `a fleet of 85 aircraft includes 52 Airbus and 43 Boeing jets`
    ((" has ", " had ", " include", " with ", " contains ", " counts "), regex(
        rf"\b[a-z]+ of {_TOTAL}(?: [a-z]+)? (?:has|had|includes|included|with|contains|counts) {_PARTS}(?=[.;)]|$)")),
    ((' of them',), regex(
        rf"{_TOTAL}{_NOUN}(?: \w+){{0,3}}, (?P<parts>{_Q} of them{_WORDS},? and {_Q} of them{_WORDS})(?=[.;)]|$)")),
    (('of ', 'among '), regex(
        rf"\b(?:of|among) (?:the |a total of |these |those |all |our |(?:the "
        rf"|an? )?[a-z]+['’]s )?{_TOTAL}{_NOUN}(?: \w+){{0,2}},"
        rf" {_PARTS}(?=[.;)]|$)")),
    (('of ', 'among '), regex(
        rf"^(?:out )?(?:of|among) (?:the |these |those |all |our )?{_TOTAL}{_NOUN},? [a-z]+ [a-z]+"
        rf" {_PARTS}(?=[.;)]|$)")),
]  # fmt: skip
_OF_WHICH = ", of wh"
_VOTED = regex(r"\b(?:in favou?r|for|against|yes|no)\b")
_NAME = regex(rf"([a-z]+) {one(COUNT)}")
_REFERENCE = regex(
    r"\b(?:tables?|figures?|figs?\.?|sections?|chapters?|rows?|columns?|eqs?\.?|remark|lemma|theorem|pages?|route"
    r"|highway|subject|no\.|number|volumes?|vol\.|sr|us|interstate|step|level|grade|age|aged|room|line|phase|episode"
    r"|channel)\s*$|\b(?:tables?|figures?|figs?\.?|sections?|chapters?|rows?|columns?|eqs?\.?|remark|lemma"
    r"|theorem) [\ue000-\ue009]"
)
_OPEN = regex(
    r"\b(?:includ|among|especially|notably|e\.g|for example|such as|mostly|mainly|respectively|average|per |each|other|"
    r"field goals?|touchdowns?|free throws?|three-pointers?|extra points?|tries|more|another|additional"
    r"|further|rest|remain|plus the|up to|from \d|out of|overlap|both|times|×)"
)
_COMPLETE = regex(r"\b(?:remaining|other|rest|remainder|leaving|which left)\b")
_MAY_OVERLAP = regex(
    r"\b(?:had|have|has|having|speak\w*|spoke|owne?d?|likes?|liked|plays?(?!-)|played|takes?|took|stud(?:y|ied)"
    r"|reported|used?|experienced|knew|know|visited|read|both|also|suffered|complained|mentioned|said|cited|drank"
    r"|watched|with|named|showed)\b"
)
"""Things that one may have or do together with another."""


_CLOSED = (
    closed_rest, closed_minus, closed_total, closed_opposites, closed_added, listed_parts, closed_stock, stated_results,
)  # fmt: skip


@rules.register("sum")
class Sums(Rule):
    """The parts that a sentence names must add up to the total that it names."""

    title = "sum"
    help = "The parts that the text names do not add up to the total beside them."
    needs = (VALUES[3],)
    least_of_paragraph = 3

    def wants(self, tally: Tally, text: str) -> bool:
        """Three values."""
        return tally.values > 2

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares totals and rests with the parts in other sentences."""
        yield from (each for each in paragraph_sums(paragraph) if not _has_score(each, paragraph.whole))
        yield from lists_before(paragraph)
        yield from votes(paragraph)
        yield from stock_accounts(paragraph)
        yield from added_fees(paragraph)
        yield from change_given(paragraph)
        if "children" in paragraph.lower:
            yield from children_before(paragraph)
        tally = paragraph.tally
        if (tally.units or tally.money) and tally.values > 2 and any(map(paragraph.lower.__contains__, _MIXED)):
            yield from mixed_sums(paragraph)

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Compares what remains with a whole named before, adds up times, and compares scores with their words."""
        text = document.text
        yield from clock_sums(document.flat, sentences)
        if "remain" in text or "leav" in text or "the rest" in text:
            yield from far_rests(text, sentences)
        yield from set_scores(document.text, sentences)
        yield from golf_scores(document.text, sentences)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for a total with its parts before or behind it, and at sums that are written out."""
        yield from (written_out := list(wrong_equations(sentence, is_product=False)))
        if not written_out:
            yield from (each for each in self._told(sentence) if not _has_score(each, sentence))

    def _told(self, sentence: Sentence) -> Iterable[Finding]:
        whole: Sentence | None = sentence.cached("whole", lambda _: None)
        cut = without_adjuncts(sentence) if whole is None else None
        if cut is not None and (found := list(self._found(cut))):
            return [each for each in found if not _is_told(each, sentence)]
        found = list(self._found(sentence))
        for cut_of in (of_one_kind, without_held_shares) if not found and whole is None else ():
            if not found and (cut := cut_of(sentence)) is not None:
                found = list(self._found(cut))
                whole = sentence if found else None
        return found if whole is None else [each for each in found if not _is_told(each, whole)]

    def _found(self, sentence: Sentence) -> Iterable[Finding]:
        if len(sentence.quantities) < 3:
            return
        skeleton = sentence.skeleton
        if sum(skeleton.count(each) for each in AMOUNT) < 3:
            return
        found: list[Finding] = []
        for each in totals_of(sentence):
            if not each.certain and not exclusive(each.named, each.head):
                continue
            most = each.how == "most"
            if most and sum(part.value for part in each.parts) <= each.total.value:
                continue
            found += self._sum(sentence, each.total, each.parts, each.words, each.named, each.how == "behind")
        for closed in _CLOSED:
            if not found:
                found += closed(sentence)
        yield from found
        for match in matches(skeleton, _EQUAL) if sentence.words & _EQUAL_CUES else ():
            yield from self._equal(sentence, match)
        for match in matches(skeleton, _OPPOSED) if " and " in skeleton else ():
            if _VOTED.search(match[0][: match.start("parts") - match.start()]):
                continue  # `14 voted in favour, nine against and two abstained`
            if exclusive(match["parts"], match[0][: match.start("parts") - match.start()]):
                yield from self._equal(sentence, match)
        for match in matches(skeleton, _AT_MOST):
            yield from self._at_most(sentence, match, ", of wh" in match[0])

    def _equal(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        total, parts = sentence.get(match, "total"), sentence.within(match["parts"])
        parts = [part for part in parts if part is not total]
        # Verbs that complete the whole speak for themselves; then only the words of the parts are looked at.
        named = match["parts"] if "sure" in match.groupdict() else match[0]
        yield from self._sum(sentence, total, parts, match[0], named, ": " in match[0])

    def _sum(
        self, sentence: Sentence, total: Quantity, parts: list[Quantity], words: str, named: str, share_unit: bool
    ) -> Iterable[Finding]:
        if not _may_add(parts, total, share_unit=share_unit) or total.value < max(
            _value(part, total) or part.value for part in parts
        ):
            return
        if _OPEN.search(_COMPLETE.sub("", named)):
            return
        if _is_numbered(named) or _REFERENCE.search(total.before.lower()[-14:]):
            return
        whole = sum(_value(part, total) or part.value for part in parts)
        finest = min(each.half for each in (total, *parts))
        # The slack of a part in another unit is scaled as the part is.
        scales = [(_value(part, total) or part.value) / part.value for part in parts]
        slack = rounding(total, [scale * slack_of(part) for part, scale in zip(parts, scales, strict=True)])
        # `$12 million: $5.4 million, $2 million and ...`: beside decimals, 2 is 2.0.
        scale = 0.45 if finest < 0.2 * total.half and not any(each.hedge for each in (total, *parts)) else 1.0
        slack *= scale
        if abs(whole - total.value) <= slack or (total.hedge == "over" and whole > total.value):
            return
        if whole < total.value and len(parts) == 2 and total.end < parts[0].start and " of the " in named:
            return  # `the frame accounts for 21 kg of the weight, the motor for 17 kg`: there may be more
        if another_sum(sentence, total, parts, scale) or (whole < total.value and has_more_parts(sentence, len(parts))):
            return
        yield wrong_sum(total, parts, whole)

    def _at_most(self, sentence: Sentence, match: re.Match[str], is_certain: bool) -> Iterable[Finding]:
        total, named = sentence.get(match, "total"), match["parts"]
        parts = sentence.within(named)
        if is_certain and _OF_WHICH in sentence.skeleton[match.start("parts") :]:
            # `30 are ships, of which 11 are chartered, and 18 are tankers, of which ...`: the 18 are a whole, too.
            parts = sentence.within(named.partition(_OF_WHICH)[0])[:-1]
        whole = sum(part.value for part in parts)
        slack = slack_of(total) + sum(map(slack_of, parts))
        if not parts or not _may_add(parts, total) or whole <= total.value + slack:
            return
        if (
            total.hedge == "over"
            or (_OPEN.search(match["parts"]) and not is_certain)
            or another_sum(sentence, total, parts)
        ):
            return
        # `of the 250 employees, ...` begins a clause; `made up of 250 in loans, ...` is a part itself.
        before = sentence.skeleton[: match.start()].rstrip()
        begins = not before or before.endswith((",", ";", ":", "out", "that", "and"))
        if not is_certain and not (
            exclusive(match["parts"], None if begins or ";" in match[0] else "")
            or are_proper(sentence, parts)
            or ("-" in match[0] and is_one_noun(match["parts"]))
            or (
                begins
                and len(parts) > 2
                and whole <= 1.15 * total.value
                and ";" not in match[0]
                and not _MAY_OVERLAP.search(match[0])
            )
        ):
            return
        terms = " + ".join(plain(part.value) for part in parts)
        message = f"{terms} = {plain(whole)}, which is more than {total.text}."
        yield finding_at("sum", total, message, others=parts, expected_at_least=whole, probability=0.9)


def _has_score(finding: Finding, sentence: Sentence) -> bool:
    """Whether two of the parts are the sides of a score: `won 6½–3½, with four wins and five draws`."""
    ends = [(each["start"], each["end"]) for each in finding.evidence["others"]]
    gaps = [sentence.text[one[1] - sentence.offset : other[0] - sentence.offset] for one, other in pairwise(ends)]
    return any(_DASH.fullmatch(gap) for gap in gaps)


def _is_told(finding: Finding, whole: Sentence) -> bool:
    """Whether numbers that were left out of a sentence fit its total, or are the sum."""
    used = {finding.span, *((each["start"], each["end"]) for each in finding.evidence["others"])}
    left = [each for each in whole.quantities if (each.start, each.end) not in used]
    gap = finding.evidence["value"] - finding.evidence.get("expected", finding.evidence["value"])
    real = finding.evidence.get("expected", finding.evidence.get("expected_at_least"))
    return any(each.value in (real, gap, -gap) for each in left) or sum(each.value for each in left) == gap


def _may_add(parts: Sequence[Quantity], total: Quantity, *, share_unit: bool = False) -> bool:
    """Whether the parts are of one kind with the total, and could be parts of it by their size."""
    # `24 hours: 10 of theory and 12 of practice`: the parts share the unit of the total.
    bare = share_unit and total.unit is not None and all(part.unit is None for part in parts)
    if len(parts) < 2 or (not bare and any(_value(part, total) is None for part in parts)):
        return False
    if any(part.value <= 0 for part in parts) or total.value <= 0 or any(part.hedge == "over" for part in parts):
        return False
    # A total far away from the sum is another kind of number: `9 men and 3 women in 1,200 matches in total`.
    whole = sum(part.value if bare else _value(part, total) or 0.0 for part in parts)
    return 0.65 * whole <= total.value <= 1.4 * whole and all(part.value != total.value for part in parts)


def _value(part: Quantity, total: Quantity) -> float | None:
    """The value of a part in the unit of the total; None if it has none."""
    if part.comparable(total):
        return part.value
    values = converted(part.value, part.unit or "", total.unit or "") if part.unit and total.unit else ()
    return values[0] if len(values) == 1 else None


def _is_numbered(parts: str) -> bool:
    """Whether the parts are numbers of things: `Anthology 2 and Anthology 3`, `Tables 5 and 6`."""
    names = _NAME.findall(parts)
    return (len(names) > 1 and len(set(names)) < len(names)) or _REFERENCE.search(parts) is not None
