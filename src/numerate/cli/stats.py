"""`numerate stats`: statistics of a corpus as in LUNA's Appendix B and Table 1 of Spithourakis and Riedel (2018)."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from numerate.cli.source import checked_reader, read_texts, texts_of
from numerate.cli.tally import Quantiles, TypeCounts, share
from numerate.reading.windows import find_in_windows
from numerate.training.engines.finished import Finished
from numerate.training.engines.local import LocalEngine
from numerate.training.engines.outputs import check_output
from numerate.training.engines.parts import FilePart, cut_files, input_files, part_size
from numerate.training.engines.places import state_of
from numerate.training.text_files import LongLine, batches_and_long_lines, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numerate.numerals.numeral import Numeral
    from numerate.reading.base import Reader
    from numerate.training.engines.local import Engine

__all__ = ["VOCABULARIES", "CorpusStats", "StatsPart", "stats_of_file", "stats_of_files"]

VOCABULARIES = (1_000, 5_000)
"""The vocabularies of the 2018 paper: clinical and scientific."""

_COUNTS = (
    "texts", "empty", "with_numerals", "with_several", "words", "signs", "numerals", "negative", "whole", "percent",
    "grouped", "special", "overflow", "zeros",
)  # fmt: skip
_COUNTERS = ("kinds", "decimals", "digits", "magnitudes")
_TALLIES = ("values", "units", "spellings", "types")
_TOKEN = re.compile(r"[^\W\d_]++(?>['’-][^\W\d_]++)*+|[^\w\s]|[\d_]")
_SEPARATORS = re.compile(r"(?<=\d)[,'’\u00a0\u2009\u202f ](?=\d)")


class CorpusStats:
    """The statistics of a stream of texts, in bounded memory.

    The tokens of a text are its numerals, words and single other characters, as in the 2018 paper.

    Args:
        reader: Finds the numerals.
        cap: Maximum number of different tokens, and of values, in memory; with more, some figures are approximate, and
            `result()["approximate"]` names them.
    """

    def __init__(self, reader: Reader, cap: int = 200_000) -> None:
        self.reader = reader
        self.texts = self.empty = self.with_numerals = self.with_several = 0
        self.words = self.signs = self.numerals = self.longest = 0
        self.negative = self.whole = self.percent = self.grouped = self.special = self.overflow = 0
        self.values = Quantiles(cap)
        self.kinds, self.decimals, self.digits = Counter[str](), Counter[int](), Counter[int]()
        self.magnitudes, self.zeros = Counter[int](), 0
        self.units, self.spellings, self.types = TypeCounts(cap), TypeCounts(cap), TypeCounts(cap)

    def add(self, text: str) -> None:
        """Counts one text; empty texts are counted separately."""
        if not text.strip():
            self.empty += 1
            return
        numerals = self.reader.find(text)
        self._add_text(len(numerals), self._add_part(text, numerals))

    def add_long(self, pieces: Iterable[str]) -> None:
        """Counts one very long text that is given in pieces, window by window."""
        count = length = 0
        is_blank = True
        for _, text, numerals in find_in_windows(pieces, self.reader):
            is_blank = is_blank and not text.strip()
            length += self._add_part(text, numerals)
            count += len(numerals)
        if is_blank:
            self.empty += 1
        else:
            self._add_text(count, length)

    def _add_text(self, numerals: int, length: int) -> None:
        self.texts += 1
        self.longest = max(self.longest, length)
        self.with_numerals += numerals > 0
        self.with_several += numerals > 1

    def _add_part(self, text: str, numerals: list[Numeral]) -> int:
        """Counts the tokens of a text or of a part of it; returns their number."""
        others = _tokens_around(text, numerals)
        words = sum(1 for token in others if token[0].isalpha())
        self.words += words
        self.signs += len(others) - words
        self.numerals += len(numerals)
        self.types.update(others)
        if numerals:
            self._add_numerals(numerals)
        return len(others) + len(numerals)

    def _add_numerals(self, numerals: list[Numeral]) -> None:
        spellings = [_normal(numeral.text) for numeral in numerals]
        self.spellings.update(spellings)
        # The space separates a numeral from a word with the same spelling; no token begins with a space.
        self.types.update([" " + spelling for spelling in spellings])
        for n in numerals:
            self.kinds[n.kind] += 1
            if n.unit is not None:
                self.units.update((n.unit,))
            decimals = n.decimals
            self.decimals[decimals] += 1
            self.digits[sum(map(str.isdecimal, n.text))] += 1
            self.whole += decimals == 0 and (n.special is None) and (n.overflow or n.value.is_integer())
            self.negative += math.copysign(1.0, n.value) < 0
            self.percent += n.kind == "percent" or "%" in n.text
            self.grouped += "," in n.text
            if n.special is not None:
                self.special += 1
            elif n.overflow:
                self.overflow += 1
            else:
                self.values.add(n.value)
                self.zeros += n.value == 0
                if n.value:  # the magnitude of the shortest decimal: the float64 of 1e23 lies below 10^23
                    self.magnitudes[Decimal(repr(n.value)).adjusted()] += 1

    def merge(self, other: CorpusStats) -> None:
        """Adds the statistics of the texts that follow."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        for name in _TALLIES:
            getattr(self, name).merge(getattr(other, name))

    def to_json(self) -> dict[str, Any]:
        """All that was counted, as JSON types; `take` sets it again."""
        plain = {name: getattr(self, name) for name in (*_COUNTS, "longest")}
        counters = {name: list(getattr(self, name).items()) for name in _COUNTERS}
        return plain | counters | {name: getattr(self, name).to_json() for name in _TALLIES}

    def take(self, state: dict[str, Any]) -> CorpusStats:
        """Sets all that was counted to that of `to_json`."""
        for name in (*_COUNTS, "longest"):
            setattr(self, name, int(state[name]))
        for name in _COUNTERS:
            setattr(self, name, Counter({key: int(count) for key, count in state[name]}))
        for name in _TALLIES:
            getattr(self, name).take(state[name])
        return self

    def result(self, top: int = 10) -> dict[str, Any]:
        """All figures, ready for JSON; shares lie between 0 and 1 and are None where nothing was counted."""
        tokens = self.words + self.signs + self.numerals
        values = self.values
        approximate = [] if self.types.exact else ["oov", "token_types"]
        approximate += [] if self.spellings.exact else ["most_frequent", "numeral_types"]
        approximate += [] if values.exact else ["median"]
        return {
            "texts": self.texts, "empty_texts": self.empty,
            "texts_with_numerals": share(self.with_numerals, self.texts),
            "texts_with_several": share(self.with_several, self.texts),
            "tokens": tokens, "words": self.words, "other_signs": self.signs, "numerals": self.numerals,
            "longest_text": self.longest, "mean_length": share(tokens, self.texts),
            "numerals_per_text": share(self.numerals, self.texts),
            "share_words": share(self.words + self.signs, tokens), "share_numerals": share(self.numerals, tokens),
            "min": _finite(values.minimum), "median": _finite(values.median),
            "mean": _finite(values.mean), "max": _finite(values.maximum),
            "specials": self.special, "overflows": self.overflow,
            "share_negative": share(self.negative, self.numerals), "share_integers": share(self.whole, self.numerals),
            "share_percent": share(self.percent, self.numerals), "share_comma": share(self.grouped, self.numerals),
            "kinds": dict(self.kinds.most_common()), "units": dict(self.units.top(top)),
            "decimals": dict(sorted(self.decimals.items())), "digits": dict(sorted(self.digits.items())),
            "zeros": self.zeros, "magnitudes": dict(sorted(self.magnitudes.items())),
            "token_types": len(self.types), "numeral_types": len(self.spellings),
            "most_frequent": dict(self.spellings.top(top)),
            "oov": {str(size): self._unknown(size, tokens) for size in VOCABULARIES},
            "approximate": approximate,
        }  # fmt: skip

    def _unknown(self, size: int, tokens: int) -> dict[str, float | None]:
        """Shares of all tokens, and of the numerals, outside of the `size` most frequent token types."""
        vocabulary = self.types.top(size)
        known = sum(count for _, count in vocabulary)
        numerals = sum(count for token, count in vocabulary if token[0] == " ")
        return {"tokens": share(tokens - known, tokens), "numerals": share(self.numerals - numerals, self.numerals)}


@dataclass(frozen=True)
class StatsPart:
    """The statistics of a part of a file, as JSON types; small and picklable, for worker processes."""

    reader: str = "standard"
    field: str | None = None
    cap: int = 200_000

    def __call__(self, part: str | FilePart, on_position: Callable[[int], None] | None = None) -> dict[str, Any]:
        """All that `CorpusStats.to_json` gives."""
        return self.counted(part, on_position).to_json()

    def counted(self, part: str | FilePart, on_position: Callable[[int], None] | None = None) -> CorpusStats:
        """The statistics themselves."""
        stats = CorpusStats(checked_reader(self.reader, {}), self.cap)
        if self.field is None and stats.reader.is_local:
            for batch in batches_and_long_lines(part, on_position):
                if isinstance(batch, LongLine):
                    stats.add_long(batch.decoded())
                else:
                    for text in texts_of(batch):
                        stats.add(text)
        else:
            for text in read_texts(part, self.field, on_position):
                stats.add(text)
        return stats


def stats_of_file(
    path: str, reader: str = "standard", field: str | None = None,
    on_position: Callable[[int], None] | None = None, cap: int = 200_000,
) -> dict[str, Any]:  # fmt: skip
    """The statistics of one file, see `CorpusStats`; a large file is counted in parts, as an engine would do it."""
    work = StatsPart(reader, field, cap)
    checked_reader(reader, {})
    parts = [FilePart(path)]
    if path != "-" and state_of(path).size > part_size():
        parts = cut_files([path], LocalEngine())
    whole = work.counted(parts[0], on_position)
    for part in parts[1:]:
        whole.merge(work.counted(part, on_position))
    return {"file": title_of(path), "reader": reader, **whole.result()}


def stats_of_files(
    paths: list[str], work: StatsPart, engine: Engine, *, folder: str | None = None, part_bytes: int = 0
) -> list[dict[str, Any]]:
    """The statistics of each file of paths, folders and addresses; the engine's workers count the parts.

    Args:
        paths: Files, folders or addresses.
        work: What is counted.
        engine: Who does the work.
        folder: Folder or address that keeps the statistics of finished parts, for the next start of the command.
        part_bytes: Size of a part.
    """
    reader = checked_reader(work.reader, {})
    if folder is not None:
        check_output(folder, paths, engine)
    files = [
        path for given in paths for path in ([given] if given == "-" else [each for each, _ in input_files([given])])
    ]
    parts = cut_files(files, engine, part_bytes=part_bytes)
    counted = work if folder is None else Finished(work, folder, {"stats": asdict(work)})
    results: list[dict[str, Any]] = []
    whole = CorpusStats(reader, work.cap)
    for part, state in zip(parts, engine.results(counted, parts), strict=True):
        one = CorpusStats(reader, work.cap).take(state)
        if part.number == 0:
            whole = one
        else:
            whole.merge(one)
        if part.number == part.parts - 1:
            results.append({"file": title_of(part), "reader": work.reader, **whole.result()})
    return results


def _tokens_around(text: str, numerals: list[Numeral]) -> list[str]:
    """The lowercased words and other characters between the numerals."""
    tokens: list[str] = []
    position = 0
    for start, end in [*((n.start, n.end) for n in numerals), (len(text), len(text))]:
        tokens.extend(_TOKEN.findall(text[position:start].lower()))
        position = end
    return tokens


def _normal(text: str) -> str:
    """A numeral as the 2018 paper writes it: no thousands separators, no leading zeros.

    Example:
        >>> _normal("2,000"), _normal("007"), _normal("0.50"), _normal("000")
        ('2000', '7', '0.50', '0')
    """
    bare = _SEPARATORS.sub("", text.lower())
    return re.sub(r"^0+(?=\d)", "", bare)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
