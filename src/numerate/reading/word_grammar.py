"""The grammar of number words: one set of rules for all languages, steered by the word tables.

It is a recursive-descent parser over the lexemes of a `WordStream`. Each rule takes the position of its first lexeme
and returns the position after its last one, or None. Rules look only a few words ahead, so that the time is linear.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from numerate.reading.word_stream import HYPHENS, WordStream

__all__ = ["Grammar", "Parsed"]

_MAX_SCALES = 2  # "a thousand billion" is a number; a long sequence of "million" is not, and would exceed 1e308
_CLOSED = frozenset(["", "of", "between", "minus", "comma"])
"""Roles after which a number from one to nineteen is complete: most number words need no grammar."""
_SCORE = 20
_Group = tuple[int, int, bool]


class Parsed(NamedTuple):
    """A number without its sign: position after it, value, and what the style of writing depends on."""

    end: int
    value: int | float
    ordinal: bool = False
    power: int = 0
    scaled: bool = False
    kind: str = "quantity"


class Grammar(WordStream):
    """The rules; `number` is the first of them."""

    def number(self, i: int, joins: bool) -> Parsed | None:
        """Reads a number without its sign; `joins` tells whether "and" may be part of an integer."""
        lex = self.lex
        word, role = lex[i], lex[i].role
        if role == "number" and lex[i + 1].role in _CLOSED and not word.ordinal and self.joints[i + 1] != "":
            return Parsed(i + 1, word.value)
        if role == "half":
            return self._portion(i + 1, Fraction(1, 2), needs_scale=True)
        if role == "mixed":
            return self._scaled_fraction(i + 1, word.exact)
        if role == "point":
            return self._bare_point(i)
        if role == "spoken zero":
            return self._decimal(i + 1, 0, scaled=False) if lex[i + 1].role == "point" else None
        if role == "article" and lex[i + 1].role == "couple":
            return self._couple(i + 2)
        # "a half dozen", "une demi-douzaine", "eine halbe Million"
        begins_half = lex[i + 1].role == "half" and word.value == 1 and (role == "article" or word.weak != "")
        if begins_half and (half := self._portion(i + 2, Fraction(1, 2), needs_scale=True)):
            return half
        if part := self._fraction(i):
            return self._portion(*part)
        if self.lexicon.years and (year := self._year(i)):
            return year
        if (integer := self._integer(i, joins)) is None or integer.ordinal:
            return integer
        return self._after_integer(integer)

    def _after_integer(self, integer: Parsed) -> Parsed | None:
        """Reads what may follow an integer: decimals, a fraction, a denominator, a count such as dozen."""
        end, total, scaled = integer.end, int(integer.value), integer.scaled
        word = self.lex[end]
        if word.role == "point" and (decimal := self._decimal(end, total, scaled)):
            return decimal
        if word.role == "and" and (part := self._mixed_part(end + 1)):
            after, fraction = part
            if integer.power >= 6 and fraction.denominator in (2, 4):  # "a million and a half"
                return Parsed(after, float(total + fraction * 10**integer.power))
            if scaled:
                return Parsed(after, float(total + fraction))
            return self._scaled_fraction(after, total + fraction)
        if word.role == "glued half" and not scaled:
            return self._scaled_fraction(end + 1, total + Fraction(1, 2))
        if part := self._denominator(end, plural=True):
            return self._portion(part[0], Fraction(total, part[1]))
        if word.role == "count" and not scaled:
            return self._count(end, total)
        return integer

    def after_digits(self, i: int, value: float, power: int) -> Parsed | None:
        """Reads the words after a number in digits: "3 and a half million", "2 hundred", "5 dozen".

        Args:
            i: Position of the lexeme of role `digits`.
            value: The positive value of the digits with their scale word.
            power: Power of ten of that scale word.
        """
        lex, exact, end = self.lex, Fraction(repr(value)), i + 1
        word = lex[end]
        if word.role == "and":
            part = self._mixed_part(end + 1)
            if part is None or value != int(value) or (power and power < 6):
                return None
            if power:
                return Parsed(part[0], float(exact + part[1] * 10**power))
            return self._scaled_fraction(part[0], exact + part[1])
        if power and (power != 2 or word.role != "scale"):  # "2 hundred | thousand"
            return None
        if word.role == "count":
            return self._count(end, exact)
        if word.parts and value == int(value):
            following = self._words_after(self.ends[end])
            of = following[:1] == ["of"] and following[1:2] and following[1] in self.lexicon.context["of_share"]
            # "The last 3 quarters" and "2 halves" are counted things.
            return Parsed(end + 1, float(exact / word.parts)) if word.parts not in (2, 4) or of else None
        if word.role == "hundred" and not word.ordinal:
            end, power = self._scale(end + 1)
            return Parsed(end, float(exact * 10 ** (power + 2)), power=power + 2)
        if word.role == "scale" and not word.ordinal:
            end, power = self._scale(end)
            return Parsed(end, float(exact * 10**power), power=power)
        return None

    def _integer(self, i: int, joins: bool) -> Parsed | None:
        """Reads groups with decreasing scales: three million | two hundred thousand | and five."""
        lex, lexicon = self.lex, self.lexicon
        if lex[i].role == "zero":
            return Parsed(i + 1, 0, ordinal=lex[i].ordinal)
        end, total, limit, only_power, chained = i, 0, 0, 0, False
        while True:
            at = end
            said_and = end > i and lex[end].role == "and"
            if said_and:
                if not joins or not ("scale" in lexicon.and_after or self._is_glued(end)):
                    break
                if "any" not in lexicon.and_after:
                    # Only a small last number follows "and": "one million and two million" are two numbers.
                    last = self._below(end + 1, 100, after_and=True)
                    if last is None or lex[last[0]].multiplies or self._mixed_part(end + 1):
                        break
                    return Parsed(last[0], total + last[1], last[2], scaled=True)
                at = end + 1
            said_comma = end > i and lex[end].role == "comma"
            at += said_comma
            if end > i and lexicon.glued and limit == 1000 and not said_and and not self._is_glued(at):
                break
            group = self._period(at, joins, is_first=end == i)
            if group is None:
                break
            after, number, ordinal = group
            if end > i and not self._agrees(at, after, ordinal, chained):
                break
            power = 0
            if not ordinal:
                after, power = self._scale(after)
            scale = lex[after]
            if scale.role == "scale" and scale.ordinal and self._continues(after, ordinal, is_bare=after == at):
                after, power, ordinal = after + 1, power + scale.value, True
            if after == at:
                break  # a bare scale word that does not continue the number
            number *= 10**power
            if limit and number >= limit:
                break  # "one thousand | two thousand"
            if said_comma and number < 100:
                break  # "one thousand, two"
            only_power = 0 if limit else power
            end, total = after, total + number
            if power == 0 or (ordinal and not lexicon.ordinal_chain):
                return Parsed(end, total, ordinal, scaled=limit > 0)
            limit, chained = 10**power, ordinal
        return Parsed(end, total, chained, scaled=True, power=only_power) if end > i else None

    def _agrees(self, start: int, end: int, ordinal: bool, chained: bool) -> bool:
        """Whether a further group suits the groups before it.

        In a language with chains of ordinals (Spanish "centésimo primero"), all groups are ordinals or none is.
        """
        return not self.lexicon.ordinal_chain or ordinal == chained or (ordinal and self.joints[end - 1] == "")

    def _continues(self, i: int, ordinal: bool, is_bare: bool) -> bool:
        """Whether the ordinal at `i` may end a number that is an ordinal (`ordinal`) or a cardinal so far."""
        if self.lexicon.ordinal_chain:
            return ordinal or is_bare or self._is_glued(i)
        return not ordinal

    def _period(self, i: int, joins: bool, is_first: bool) -> _Group | None:
        """Reads the number before a scale word; with the long scale it may contain a "mil" of its own."""
        group = self._group(i, joins, is_first)
        if not self.lexicon.long_scale or group is None:
            return group
        lex, (end, number, ordinal) = self.lex, group
        scale = lex[end]
        if scale.role != "scale" or scale.value != 3:
            return group
        if scale.ordinal and not (end == i or ordinal or self._is_glued(end)):
            return group
        if ordinal and not scale.ordinal:
            return group
        end, number, ordinal = end + 1, 1000 * number, scale.ordinal
        at = end + (lex[end].role == "and" and "scale" in self.lexicon.and_after)
        rest = self._group(at, joins, is_first=False)
        if rest is None or lex[rest[0]].role == "hundred" or (lex[rest[0]].role == "scale" and lex[rest[0]].value == 3):
            return end, number, ordinal
        if rest[2] != ordinal or rest[0] == at:
            return end, number, ordinal
        return rest[0], number + rest[1], ordinal

    def _group(self, i: int, joins: bool, is_first: bool) -> _Group | None:
        """Reads the number before a scale word: 1 to 9999 ("fifteen hundred and five"), or the "a" of "a million"."""
        lex, lexicon = self.lex, self.lexicon
        word = lex[i]
        if word.role == "article":
            if not is_first or not lex[i + 1].multiplies or self._is_score(i + 1):  # "a score of 3 to 2"
                return None
            end, number = i + 1, 1
        elif word.role in ("hundred", "scale"):
            if not word.bare and not (is_first and word.ordinal):
                return None
            end, number = i, 1
        elif (below := self._below(i)) is None or below[2]:
            return below
        else:
            end, number, _ = below
        word = lex[end]
        if word.role != "hundred" or number > max(lexicon.max_hundreds, 1):
            return end, number, False
        if lexicon.glued and end > i and not self._is_glued(end):
            return end, number, False
        end, number = end + 1, 100 * number
        if word.ordinal:
            return end, number, True
        said_and = lex[end].role == "and"
        if said_and and not (joins and "hundred" in lexicon.and_after and not self._mixed_part(end + 1)):
            if not self._is_glued(end):
                return end, number, False
        elif lexicon.glued and not said_and and not self._is_glued(end):
            return end, number, False
        rest = self._below(end + said_and, 100, after_and=said_and)
        if rest is None or lex[rest[0]].role == "hundred":  # "one hundred and | two hundred"
            return end, number, False
        return rest[0], number + rest[1], rest[2]

    def _below(self, i: int, room: int = 1000, after_and: bool = False) -> _Group | None:
        """Reads words that are added to each other: twenty-one, vingt et un, einundzwanzig, cento e vinte e um."""
        lex, lexicon = self.lex, self.lexicon
        word = lex[i]
        if word.role != "number" or word.value >= room:
            return None
        if (word.doubtful and not after_and) or (word.alone and (after_and or self._is_glued(i))):
            return None
        end, number, ordinal, room = i + 1, word.value, word.ordinal, word.room
        if lexicon.units_before_tens and number < 10 and not ordinal and self._is_glued(i + 2):
            tens = lex[i + 2]
            if lex[i + 1].role == "and" and self._is_glued(i + 1) and tens.room == 10:
                return i + 3, number + tens.value, tens.ordinal
        while room and (not ordinal or lexicon.ordinal_chain):
            at, word = end, lex[end]
            if word.role == "and" and ("hundred" if room == 100 else "tens") in lexicon.and_after and not ordinal:
                at, word = end + 1, lex[end + 1]
                if word.value not in lexicon.and_values:
                    break
            if word.role != "number" or not 0 < word.value < room or word.alone:
                break
            if lexicon.glued and not self._is_glued(at):
                break
            if word.ordinal != ordinal and (ordinal or lexicon.ordinal_chain):
                break
            if word.doubtful and not self._hyphen_before(at):
                break
            number, room, ordinal, end = number + word.value, min(word.room, room // 10), word.ordinal, at + 1
        return end, number, ordinal

    def _fraction(self, i: int, mixed: bool = False) -> tuple[int, Fraction] | None:
        """Reads one third, two-thirds, a third of; `mixed`: after "two and", where "a third" is not an ordinal."""
        word = self.lex[i]
        if word.value == 1 and not word.ordinal and word.role in ("number", "article"):
            part = self._denominator(i + 1, plural=False)
            if part is not None:
                end, below = part
                noun = not self.lex[end - 1].ordinal
                sure = mixed or self.lex[end].role == "of"
                if word.role == "article":  # "a half million"; "fell by a third"
                    sure = sure or (self.lex[end].multiplies if noun else self._is_share(i, end))
                elif word.weak:
                    sure = sure or noun
                else:  # "one hundredth" may be the ordinal, "one third" cannot
                    sure = sure or (end == i + 2 and (below <= 90 or self._hyphen_before(i + 1)))
                return (end, Fraction(1, below)) if sure else None
        above = self._below(i)
        if above is None or above[2] or (part := self._denominator(above[0], plural=True)) is None:
            return None
        return (part[0], Fraction(above[1], part[1])) if above[1] < part[1] or not mixed else None

    def _mixed_part(self, i: int) -> tuple[int, Fraction] | None:
        """Reads the fraction after "two and": a half, three quarters; French "et demi"."""
        if self.lex[i].half:
            return i + 1, Fraction(1, 2)
        return self._fraction(i, mixed=True)

    def _denominator(self, i: int, plural: bool) -> tuple[int, int] | None:
        word = self.lex[i]
        if value := word.parts if plural else word.part:
            return i + 1, value
        hundred = word.role == "hundred" and not word.ordinal
        if not hundred and (word.role != "number" or (word.room != 10 and word.value != 10) or word.ordinal):
            return None
        if not self._hyphen_before(i + 1):
            return None
        following = self.lex[i + 1]
        if not hundred and word.value != 10:  # thirty-seconds, sixty-fourths
            if following.role == "compound part" and plural:
                return i + 2, word.value + following.value
            below = following.parts if plural else following.value if following.ordinal else 0
            return (i + 2, word.value + below) if 0 < below < 10 and following.role != "half" else None
        below = following.parts if plural else following.part
        return (i + 2, (100 if hundred else 10) * below) if below >= 1000 else None  # ten-thousandths

    def _portion(self, end: int, exact: Fraction, needs_scale: bool = False) -> Parsed | None:
        """Multiplies a fraction by a following scale: half a million, three quarters of a million."""
        lex = self.lex
        at = end + (lex[end].role == "of")
        at += (at > end or needs_scale) and (lex[at].role == "article" or lex[at].weak != "")
        # "Of" needs an article: "three quarters of million-dollar homes" is not a product.
        if lex[at].multiplies and lex[at - 1].role != "of":
            return self._times(at, exact)
        return None if needs_scale else Parsed(end, float(exact))

    def _scaled_fraction(self, end: int, exact: Fraction) -> Parsed:
        """A fraction with the scale word that may follow: two and a half | million."""
        return self._times(end, exact) if self.lex[end].multiplies else Parsed(end, float(exact))

    def _times(self, i: int, exact: Fraction) -> Parsed:
        word = self.lex[i]
        if word.role == "count":
            return self._count(i, exact)
        hundred = word.role == "hundred"
        end, power = self._scale(i + hundred)
        return Parsed(end, float(exact * 10 ** (power + 2 * hundred)), power=0 if hundred else power)

    def _count(self, i: int, number: int | Fraction) -> Parsed:
        """Multiplies by a dozen or a score: "four score and seven"."""
        count = self.lex[i].value
        if self._is_score(i) and self.lex[i + 1].role == "and" and (rest := self._below(i + 2, _SCORE)) and not rest[2]:
            return Parsed(rest[0], float(number * count + rest[1]))
        return Parsed(i + 1, float(number * count))

    def _is_score(self, i: int) -> bool:
        return self.lex[i].role == "count" and self.lex[i].value == _SCORE

    def _couple(self, i: int) -> Parsed | None:
        """Reads what follows "a couple": of days, of hundred, dozen."""
        of = self.lex[i].role == "of"
        if self.lex[i + of].multiplies:
            return self._times(i + of, Fraction(2))
        return Parsed(i, 2) if of else None

    def _scale(self, i: int) -> tuple[int, int]:
        end, lex = i, self.lex
        while end - i < _MAX_SCALES and lex[end].role == "scale" and not lex[end].ordinal:
            if end > i and lex[end].value < lex[end - 1].value:
                break  # "un milliard | mille"
            end += 1
        return end, sum(word.value for word in lex[i:end])

    def _year(self, i: int) -> Parsed | None:
        """Reads a year in two halves: nineteen | eighty-four, twenty | oh | five."""
        lex, century = self.lex, self.lex[i]
        if century.role != "number" or not 10 <= century.value <= 20 or century.ordinal or lex[i - 1].role == "number":
            return None
        # "Fifteen-twenty" is a range.
        if self.joints[i + 1] in HYPHENS and not 17 <= century.value <= 19:
            return None
        tens, ones = lex[i + 1], lex[i + 2]
        end, year = i + 2, tens.value
        if tens.role == "spoken zero" or (tens.role == "number" and tens.room == 10):
            if ones.role == "number" and ones.ordinal:
                return None
            if ones.role == "number" and ones.value < 10:
                end, year = i + 3, year + ones.value
        if tens.role not in ("number", "spoken zero") or tens.ordinal or (year < 10) != (tens.role != "number"):
            return None
        # "Ten fifteen" is a time; "twenty twenty-four thousand" and "sixteen sixteen-year-olds" hold no year.
        after = lex[end].role
        if year == 0 or (century.value < 13 and year < 60) or after not in (*_CLOSED, "and", "article"):
            return None
        if self.text[self.ends[end - 1] : self.ends[end - 1] + 1] in HYPHENS:
            return None
        return Parsed(end, 100 * century.value + year, kind="year")

    def _bare_point(self, i: int) -> Parsed | None:
        """Reads "point two five"; one digit alone must be a percentage, because "point five" may be a fifth point."""
        if not self.lexicon.bare_point or not self.lex[i + 1].digit:
            return None
        decimal = self._decimal(i, 0, scaled=False)
        if decimal is None or (decimal.end == i + 2 and not self.lexicon.percent.match(self.text, self.ends[i + 1])):
            return None
        return decimal

    def _decimal(self, i: int, total: int, scaled: bool) -> Parsed | None:
        """Reads the decimals after the point word at `i`: single digits, or a number below a hundred after zeros."""
        lex, end, digits = self.lex, i + 1, ""
        while lex[end].digit and not self._is_glued(end + 1):
            end += 1
        digits = "".join([word.digit for word in lex[i + 1 : end]])
        if digits.strip("0") == "" and (below := self._below(end, 100)) and not below[2]:
            end, digits = below[0], digits + str(below[1])
        if not digits:
            return None
        end, power = (end, 0) if scaled else self._scale(end)
        # Convert the decimal string: linear time and correct rounding for any number of digits.
        return Parsed(end, float(f"{total}.{digits}e{power}"), power=power)

    def _is_glued(self, i: int) -> bool:
        """Whether lexeme `i` is a further part of a compound."""
        return self.joints[i] == "" and self.lex[i].role not in ("", "comma", "digits")

    def _hyphen_before(self, i: int) -> bool:
        return self.joints[i] in HYPHENS and self.lex[i].role != ""

    def ends_phrase(self, end: int) -> bool:
        """Whether no word follows directly at offset `end`, so that an article before it is a number: "un, deux"."""
        after = self.text[end : end + 2]
        return not (after[:1].isalnum() or (after[:1] in " \n-'’\u00a0" and after[1:].isalpha()))

    def _words_after(self, end: int) -> list[str]:
        """The next words of the text at offset `end`; the last one may be cut."""
        return [word.strip(".,;:!?") for word in self.text[end : end + 24].lower().split()]

    def _word_before(self, start: int) -> str:
        words = self.text[max(0, start - 16) : start].lower().split()
        return words[-1] if words else ""

    def _is_share(self, i: int, end: int) -> bool:
        """Whether "a fifth" is a share and not "a fifth attempt"."""
        context, stop = self.lexicon.context, self.ends[end - 1]
        if self.lex[end].role not in ("", "comma", "minus"):
            return False
        if self._word_before(self.starts[i]) in context["before_share"] or self.ends_phrase(stop):
            return True
        return self._words_after(stop)[0] in context["after_share"]

    def is_pronoun(self, start: int, end: int) -> bool:
        """Whether the "one" from `start` to `end`, a number of its own, is a pronoun: no one, one of them."""
        context = self.lexicon.context
        before = self._word_before(start)
        if before in context["before_pronoun"]:
            return True
        if self.text[end : end + 1] != " " or not (after := self._words_after(end)):
            return False
        if after[0] in self.lexicon.of_words:
            return len(after) > 1 and after[1] in context["of_pronoun"]
        return after[0] in context["after_pronoun"] or (before == "the" and after[0] in context["after_the_one"])
