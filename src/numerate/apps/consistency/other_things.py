"""Words that say that a number is about another time, thing or person than the numbers it was compared with.

`21 of 28 passed, against a pass rate of 65 % a year ago` and `his 45-year-old wife` do not contradict what stands
before them. As all excuses, these are looked for once there is a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.consistency.excuses import Claim
    from numerate.apps.consistency.sentences.paragraphs import Paragraph

__all__ = [
    "at_another_time", "falling_on_purpose", "of_another_event", "of_another_person", "of_another_side",
    "of_another_thing", "of_another_whole", "of_larger_group", "of_other_one",
]  # fmt: skip

_PERIOD = r"(?:year|month|week|season|quarter|decade|term|semester)"
_OTHER_TIME_BEHIND = regex(
    rf"(?: [a-z/]+)?,? (?:an?|one|two|three|four|five|the|some|many) {_PERIOD}s? (?:ago|earlier|before|previously)\b"
    rf"|(?: [a-z/]+)?,? (?:in the (?:previous|preceding|last)|last) {_PERIOD}\b"
)
_OTHER_TIME_BEFORE = regex(
    rf"\b(?:those|that|these|the ones?) (?:of|from|in) (?:the )?(?:{_PERIOD} before|(?:last|previous|preceding|other"
    r"|old|earlier) [a-z]+)\b[^.;]*$"
    r"|\b(?:in|at|for|of|with) the (?:old|former|previous|preceding|earlier|last|other) (?:one|(?:year|month|week"
    r"|season|quarter|survey|parliament|house|version|edition|study|trial))\b[^.;]*$"
)
_COMPARED = regex(r"\b(?:than|from|on|over|versus|since|up|down|more|less|fewer|higher|lower)\b")
_DAYS = regex(r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b")
_OF_THEM = regex(r" of (?:them|these|those|whom|which) (?!(?:is|are|was|were|ha[ds]|have|in|on|by|at)\b)[a-z]")
_NEW_SUBJECT = regex(
    r"(?:(?:,? and|,? while|,? whereas|,? but)|;) (?!(?:it|they|he|she|this|that|these|those|which|there|so|thus|we|you"
    r"|i|then|now|who) )(?:the |its |their |his |her )?(?P<noun>[a-z-]{3,}) (?:costs? |prices? )?"
    r"(?:was|were|is|are|rose|fell|grew|had|has|have|came to|went up|went down)\b[^.;]*$"
)
_CHANGE = regex(
    r"difference|gap|ris|rise|increas|decreas|drop|fall|gain|loss|chang|total|sum|margin|lead|profit|growth|saving|climb"
    r"|descent|ascent|result|rest|all|both|share|balance|surplus|deficit|ride|trip|journey|flight|walk|drive|way|stay"
    r"|match|race|game|meeting|average|mean"
)
"""Nouns that go on with the numbers told before."""
_OTHER_ONE = regex(r"^the other [a-z]+ (?:has|had|is|was|gets|got|needs) (?:[a-z]+ )?$")
_GROUP = regex(
    r" (?:in|for|of|across) (?:the|all|her|his|their) (?:whole |entire )?(?:class|school|year|group|country|region"
    r"|league|team|city|state|division|district|nation|field|industry)\b"
)
_MEANT = regex(r"\b(?:planned|designed|expected|intended|supposed|meant|hoped|scheduled|budgeted|forecast)\b[^.;]*$")
_PLACE_BEHIND = regex(
    r",? (?:ahead of|behind|in front of|clear of|faster than|slower than) (?:the )?(?:third|fourth|fifth|next|rest"
    r"|others?|pack|bunch|field)\b"
)
_MORE_TIME = regex(r" (?:more|longer|extra)\b")
_SECOND_SUBJECT = regex(
    r"(?:\band|\bwhile|\bbut|;) (?:the|his|her|its|their) (?:second|third|next|last) [a-z]+ (?:was|were|is|are|had)\b"
)
_SIDE = regex(r"[ -](long|deep|wide|broad|high|tall|thick|in (?:length|width|depth|height|diameter))\b")
_HAD = regex(r"\b(?:he|she|they|who|it) had (?!been )(?:[a-z]+ )?[a-z]+(?:ed|en|ld|ght|ent|ept|ung|un) [^.;,]*$")
_HAD_NOT_BEEN = regex(r"\b(?:he|she|they|who|it) had (?!been )")
_RELATIVE_BEHIND = regex(
    r"(?:[- ](?:years?[- ])?old)? (?:(?:younger|older|elder|twin|late|ex-)[ ]?)?(?:wife|husband|son|daughter|brother"
    r"|sister|mother|father|partner|friend|neighbou?r|colleague|cousin|uncle|aunt|nephew|niece|grandson|granddaughter"
    r"|grandmother|grandfather|boyfriend|girlfriend|fiancée?|rival|opponent|assistant|successor|predecessor)\b"
)
_WHEN = regex(
    r"(?:^|[,;] |[.] )(?:when|before|until|originally|initially|at first|in the beginning|at the (?:time|start|opening)"
    r"|once)\b[^.;]*$"
)
_FALLING = regex(
    r"\b(?:(?:getting|becoming|growing) (?:[a-z]+er|less)|cool\w*|lower(?:ed|ing)|reduc\w+|countdown|counting down"
    r"|cut|backwards?|descend\w*|falling|shrink\w*|taper\w*|decreas\w*)\b"
)


def at_another_time(claim: Claim) -> bool:
    """`... passed, against a pass rate of 65 % a year ago`; `those of the year before had a mean of 13.7 g`."""
    paragraph, z = claim.paragraph, claim.z
    if not claim.others or any(each.start > z.start for each in claim.others):
        return False
    last = max(claim.others, key=lambda each: each.end)
    if _OTHER_TIME_BEFORE.search(paragraph.between(last, z)):
        return True
    tail = paragraph.tail(z)
    behind = _OTHER_TIME_BEHIND.match(tail)
    if behind is None or _COMPARED.search(behind[0]) or (claim.finding.rule == "percent" and not _is_share(claim)):
        return False
    return not any(_OTHER_TIME_BEHIND.match(paragraph.tail(each)) for each in claim.others)


def of_another_thing(claim: Claim) -> bool:
    """`Staff costs went up from $18.4 million to $21.1 million, and rents were $3.7 million higher`."""
    paragraph, z = claim.paragraph, claim.z
    if not claim.others or any(each.start > z.start for each in claim.others):
        return False
    if claim.finding.rule == "percent" and _OF_THEM.match(paragraph.tail(z)) and _is_share(claim):
        return True  # `27 of 180 patients, 25 % of them severe`
    last = max(claim.others, key=lambda each: each.end)
    between = paragraph.between(last, z)
    subject = _NEW_SUBJECT.search(between)
    if claim.finding.rule == "difference" and _SECOND_SUBJECT.search(between):
        return True
    if subject is not None and not _CHANGE.search(subject["noun"]) and claim.finding.rule == "difference":
        return subject["noun"] not in paragraph.upto(last)
    if claim.finding.rule != "difference":
        return False
    days, own = _DAYS.findall(paragraph.tail(z)), _DAYS.findall(paragraph.upto(z))
    return bool(days and own) and not {each.rstrip("s") for each in days} & {each.rstrip("s") for each in own}


def _is_share(claim: Claim) -> bool:
    """Whether the percentage is compared with a part and its whole."""
    return len(claim.others) == 2 and claim.z.group == "percent" and " of " in claim.finding.message


def of_other_one(claim: Claim) -> bool:
    """`The other project has 35 with four rooms`: no rest of the numbers before."""
    return _OTHER_ONE.search(claim.paragraph.upto(claim.z)) is not None


def of_larger_group(claim: Claim) -> bool:
    """`Marks of 2, 3 and 4, and an average of 3.5 in the class`."""
    last = max(claim.others, key=lambda each: each.end, default=claim.z)
    is_other = " and an " in claim.paragraph.between(last, claim.z) or " while " in claim.paragraph.between(
        last, claim.z
    )
    return is_other and _GROUP.match(claim.paragraph.tail(claim.z)) is not None


def of_another_event(claim: Claim) -> bool:
    """`It had been planned for 76 years of work`; `after she had led the school for 20 years`; `ahead of the third`."""
    paragraph, z = claim.paragraph, claim.z
    tail = paragraph.tail(z)
    if _PLACE_BEHIND.match(tail) or (claim.finding.message.startswith("From ") and _MORE_TIME.match(tail)):
        return True
    if any(each.start > z.start for each in claim.others):
        return False
    lead = paragraph.lead(z)
    if _MEANT.search(lead):
        return True
    return _HAD.search(lead) is not None and not any(
        _HAD_NOT_BEEN.search(paragraph.lead(each)) for each in claim.others
    )


def of_another_person(claim: Claim) -> bool:
    """`His 45-year-old wife`; `When it opened, with 48 rooms`: what was told before is not told again."""
    paragraph, z = claim.paragraph, claim.z
    if z.unit == "year" and _RELATIVE_BEHIND.match(paragraph.tail(z)):
        return True
    return _WHEN.search(paragraph.lead(z)) is not None


def falling_on_purpose(claim: Claim) -> bool:
    """`Rounds of 12 to 8 minutes, getting shorter each time`: such a range goes down."""
    return claim.finding.message.startswith("The range begins") and _FALLING.search(claim.paragraph.lower) is not None


def of_another_side(claim: Claim) -> bool:
    """`6,830 m long and 284 m deep; 4,100 m of it were mapped`: a depth is no part of a length."""
    sides = [_SIDE.match(claim.paragraph.tail(each)) for each in (claim.z, *claim.others)]
    return len({side[1] if side is not None else "" for side in sides} - {"long", "in length"}) > 1


def of_another_whole(claim: Claim, paragraphs: Sequence[Paragraph]) -> bool:
    """`A deposit of 15 % (£57,750)` behind a price of some years ago, where the price of today stands further up."""
    rates = [each for each in claim.others if each.group == "percent"]
    if len(rates) != 1 or len(claim.others) != 2 or claim.z.group == "percent":
        return False
    used = {claim.z.start, *(each.start for each in claim.others)}
    return any(
        each.group == claim.z.group
        and each.unit == claim.z.unit
        and each.value > claim.z.value
        and each.start not in used
        and abs(each.value * rates[0].value - claim.z.value) <= 1.02 * claim.z.half
        for paragraph in paragraphs
        for each in paragraph.values
    )
