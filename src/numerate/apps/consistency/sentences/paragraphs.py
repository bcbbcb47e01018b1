"""Paragraphs: all sentences of one paragraph as one, so that a total and its parts may stand in different sentences.

A number of a paragraph is compared with what others say it should be. How sure a finding is, is counted in bits: words
such as `in all` give some, and so does a value that is the expected one but for one digit or two exchanged ones,
which is rarely chance; each further reading that was tried takes some away.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.kept import kept
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import SentenceGroup, sentence_groups
from numerate.apps.consistency.sentences.sentences import TIMES, Sentence
from numerate.apps.consistency.sentences.tally import tally_of_all
from numerate.apps.consistency.sentences.traits import traits_of_tally, traits_of_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.findings import Finding

__all__ = ["NEEDED", "Paragraph", "is_explained", "is_told_elsewhere", "paragraphs_of", "slip_bits"]

NEEDED = 8.0
"""Bits that a finding needs."""
MOST_SURE = 0.9
"""Findings of sentences that are surer are kept, whatever the paragraph says."""
MOST_VALUES = 24
"""Paragraphs with more numbers are data."""
MAX_LENGTH = 3_000
MOST_BEFORE = 300
_BREAK = regex(r"\n[ \t]*\n|\n[ \t]*(?:[-*•#]|\d{1,2}[.)]) ")
_GOES_ON = regex(
    r"(?:Taken together|Together|In all|In total|Altogether|All told|All in all|In sum|Added up|Combined"
    r"|(?:That|This|Which|It all|All this|All of this) (?:makes|gives|adds up|comes|amounts|brings))\b"
)
"""Begins of a paragraph that goes on with the numbers of the one before."""
_COUNTED = regex(r" (?:[a-z]+ )?(?:[a-z]{3,}s|people|men|women|children)\b")
_GROUPED = regex(r"\d{1,3}(?:,\d{3})+")


class Paragraph:
    """The sentences of one paragraph that have a number, as one.

    Attributes:
        source: Name of the file.
    """

    def __init__(self, text: str, offset: int, sentences: Sequence[Sentence], source: str = "") -> None:
        self.source = source
        self.tally: Tally = tally_of_all([each.tally for each in sentences])
        """How many numbers of each kind it has, which is cheap to know."""
        self._text, self._offset, self._sentences = text, offset, sentences
        self.nouns: dict[tuple[int, int, str | None], list[str]] = {}
        """What its numbers count, by where they stand and their unit; `told_rates.nouns_of` fills it."""
        self._leads: dict[tuple[int, int], str] = {}
        self._tails: dict[tuple[int, int, int], str] = {}

    # Most paragraphs are closed to all rules by their tally and traits: what follows is made when it is needed.
    @kept
    def whole(self) -> Sentence:
        """The paragraph as a sentence."""
        numerals = [numeral for each in self._sentences for numeral in each.numerals]
        return Sentence(self._text, self._offset, numerals, self.words)

    @kept
    def lower(self) -> str:
        """Its text in lower case."""
        lower = self._text.lower()
        return lower if len(lower) == len(self._text) else self._text

    @kept
    def _starts(self) -> list[int]:
        return [each.offset for each in self._sentences]

    @kept
    def _ends(self) -> list[int]:
        return [each.offset + len(each.text) for each in self._sentences]

    @kept
    def sentences(self) -> list[tuple[int, str]]:
        """Where its sentences with a number begin in the document, and their words in lower case."""
        return [(start, self._cut(start, end)) for start, end in zip(self._starts, self._ends, strict=True)]

    @kept
    def traits(self) -> int:
        """The cue words and kinds of numbers that it has, as bits."""
        return self.words | traits_of_tally(self.tally)

    @kept
    def words(self) -> int:
        """The cue words that it has, as bits; those of a group of sentences are known already."""
        group = self._sentences
        if not isinstance(group, SentenceGroup):
            return traits_of_words(self._text)
        return group.words | traits_of_words(self._text[: group[0].offset - self._offset])

    @kept
    def values(self) -> list[Quantity]:
        """The quantities that are no times and no ordinals, in order."""
        found, starts = [], self._starts
        for each in self.whole.quantities:
            group = each.group
            if group in ("other", "ordinal") and self._counts(each, group):
                each.group = group = "plain"
            if group not in TIMES:
                each.place = bisect_right(starts, each.start) - 1
                found.append(each)
        return found

    @kept
    def _bounds(self) -> tuple[list[int], list[int]]:
        """Starts and ends of the values, sorted."""
        return sorted(each.start for each in self.values), sorted(each.end for each in self.values)

    def _counts(self, quantity: Quantity, group: str) -> bool:
        """Whether what was read as a code or a name is a count: `the Conservatives 19`, `in the trial 412 women`."""
        start, end = quantity.start - self.whole.offset, quantity.end - self.whole.offset
        if group == "other" and _GROUPED.fullmatch(quantity.text):
            return True
        if not quantity.text.isdecimal() or quantity.value >= 1000 or self.lower[start - 1 : start] not in (" ", "("):
            return False
        if group == "other":
            return self.lower[end : end + 1] in (" ", ",", ".", ";", ")", "") and quantity.text[0] != "0"
        return quantity.value > 99 and _COUNTED.match(self.lower, end) is not None

    def place(self, quantity: Quantity) -> int:
        """Index of the sentence of a quantity."""
        place = quantity.place
        return place if place >= 0 else bisect_right(self._starts, quantity.start) - 1

    def lead(self, quantity: Quantity, most: int = 70) -> str:
        """The words before a quantity, up to the quantity before it or the begin of its sentence."""
        start = quantity.start
        known = self._leads.get((start, most))
        if known is None:
            begin = max(self._starts[max(self.place(quantity), 0)], start - most)
            ends = self._bounds[1]
            index = bisect_right(ends, start)
            known = self._cut(max(begin, ends[index - 1]) if index else begin, start)
            self._leads[start, most] = known
        return known

    def tail(self, quantity: Quantity, most: int = 60) -> str:
        """The words behind a quantity, up to the next one or the end of its sentence."""
        start, last = quantity.start, quantity.end
        known = self._tails.get((start, last, most))
        if known is None:
            end = min(self._ends[max(self.place(quantity), 0)], last + most)
            starts = self._bounds[0]
            index = bisect_left(starts, last)
            known = self._cut(last, min(end, starts[index]) if index < len(starts) else end)
            self._tails[start, last, most] = known
        return known

    def around(self, *quantities: Quantity) -> str:
        """The words from the first to the last of some quantities, with those right before and behind them."""
        start, end = min(each.start for each in quantities), max(each.end for each in quantities)
        place = self.place(max(quantities, key=lambda each: each.start))
        return self._cut(max(start - 24, self.whole.offset), min(end + 24, self._ends[place]))

    def upto(self, quantity: Quantity) -> str:
        """The words of a sentence before a quantity."""
        return self._cut(self._starts[max(self.place(quantity), 0)], quantity.start)

    def between(self, one: Quantity, other: Quantity) -> str:
        """The words between two quantities."""
        return self._cut(min(one.end, other.end), max(one.start, other.start))

    def alike(self, quantity: Quantity) -> list[Quantity]:
        """Other values of the same unit, currency or kind."""
        return [
            each
            for each in self.values
            if each is not quantity and each.group == quantity.group and each.unit == quantity.unit
        ]

    def _cut(self, start: int, end: int) -> str:
        return self.lower[start - self.whole.offset : end - self.whole.offset]


def paragraphs_of(text: str, sentences: Sequence[Sentence], source: str = "", least: int = 2) -> Iterator[Paragraph]:
    r"""The paragraphs of a text with two numbers or more, from its sentences that have a number.

    Example:
        >>> from numerate.apps.consistency.checker import sentences_of
        >>> from numerate.apps.documents import Document
        >>> document = Document(kind="text", text="It had 8 cats, 9 dogs. And 3 birds.\n\nOn page 4 it ends.")
        >>> found = list(paragraphs_of(document.text, list(sentences_of(document))))
        >>> [[each.text for each in paragraph.values] for paragraph in found]
        [['8', '9', '3']]
    """
    known = {each[0].offset: each for each in sentence_groups(text, sentences)}
    group: list[Sentence] = []
    has_lines = "\n" in text
    for sentence in (*sentences, None):
        if group:
            end = group[-1].offset + len(group[-1].text)
            if sentence is not None and (
                not has_lines
                or text.find("\n", end, sentence.offset + 3) < 0
                or not _BREAK.search(text, end, sentence.offset + 3)
                or _GOES_ON.match(sentence.text)
            ):
                group.append(sentence)
                continue
            if (
                least <= sum(len(each.numerals) for each in group) <= 2 * MOST_VALUES
                and end - group[0].offset <= MAX_LENGTH
            ):
                start = group[0].offset
                # Sentences without a number may say what happened: `The colony tripled. In 2009 ...`.
                near = _BREAK.finditer(text, max(0, start - MOST_BEFORE), start) if has_lines else ()
                breaks = [each.end() for each in near]
                start = breaks[-1] if breaks else (0 if start <= MOST_BEFORE else start)
                same = known.get(group[0].offset)
                those = same if same is not None and len(same) == len(group) else group
                yield Paragraph(text[start:end], start, those, source)
        group = [] if sentence is None else [sentence]


def slip_bits(said: Quantity, real: float) -> float:
    """How much it proves that a value is the real one but for a slip of a digit: 0 where it is none.

    A random number of three digits differs from another in one digit with probability 0.03 (5 bits), and by two
    exchanged digits with 0.002 (9 bits).
    """
    step = 2 * said.half
    if step <= 0 or real <= 0 or said.value <= 0 or not math.isfinite(real):
        return 0.0
    step = max(step, said.last_place / 10) if said.unit is not None or said.value >= 1000 else step
    if real / step > 1e9 or abs(round(real / step) * step - real) > 0.02 * real:
        return 0.0
    one, other = (str(round(value / step)) for value in (said.value, real))
    while one.endswith("00") and other.endswith("00"):
        one, other = one[:-1], other[:-1]  # zeros of round numbers agree by themselves
    size = len(one)
    if one == other or size < 2:
        return 0.0
    if size != len(other):
        digits = one.rstrip("0")
        return 3.3 * len(digits) if len(digits) > 1 and digits == other.rstrip("0") else 0.0  # a factor of ten
    differing = [index for index in range(size) if one[index] != other[index]]
    if len(differing) == 1:
        return math.log2(10 ** (size - 1) / size)
    first, second = differing[0], differing[-1]
    if len(differing) == 2 and one[first] == other[second] and one[second] == other[first]:
        return math.log2(9 * 10 ** (size - 1) / (size - 1)) - (0 if second == first + 1 else 2)
    return 0.0


def is_explained(z: Quantity, others: Sequence[Quantity], *, means: bool = True) -> bool:
    """Whether a value is the sum, difference or (unless `means` is False) mean of some of the others of its kind."""
    blur = z.blur
    numbers = [each.value for each in others][:12]
    for count in range(2, min(len(numbers), 6) + 1):
        groups = (
            itertools.combinations(numbers, count)
            if count < 4
            else (numbers[at : at + count] for at in range(len(numbers) - count + 1))
        )
        for some in groups:
            whole, largest = sum(some), max(some)
            slack = blur + 1e-9 * abs(whole)
            if any(abs(each - z.value) <= slack for each in (whole, 2 * largest - whole)) or (
                means and abs(whole / count - z.value) <= slack
            ):
                return True
    return False


def is_told_elsewhere(finding: Finding, paragraphs: Sequence[Paragraph]) -> bool:
    """Whether another sentence explains the number of a sum: `$2,000 for the trip. ... leaves $460`."""
    if finding.rule != "sum" or finding.probability > MOST_SURE or finding.span is None:
        return False
    for paragraph in paragraphs:
        whole = paragraph.whole
        if whole.offset <= finding.span[0] < whole.offset + len(whole.text):
            z = next((each for each in paragraph.values if (each.start, each.end) == finding.span), None)
            if z is None:
                return False
            far = [each for each in paragraph.alike(z) if paragraph.place(each) != paragraph.place(z)]
            near = _near(paragraph, z)
            return any(is_explained(z, [each, *near]) for each in far)
    return False


def _near(paragraph: Paragraph, z: Quantity) -> list[Quantity]:
    return [each for each in paragraph.alike(z) if paragraph.place(each) == paragraph.place(z) and each.start < z.start]
