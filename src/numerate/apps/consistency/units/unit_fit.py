"""Units that do not fit their quantity: `weighs 70 km`, `120 kg tall`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, rules
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import UNIT, slot
from numerate.apps.consistency.sentences.traits import UNITS, cues, stems
from numerate.apps.consistency.units.home_areas import home_areas
from numerate.apps.consistency.units.unit_columns import unit_columns
from numerate.apps.consistency.units.unit_nouns import unit_nouns
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["UnitFit"]

_HEDGE = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|over|under|up to|more than|less than|at least|only|just"
    r"|some|an average of|an estimated) )*"
)
_IS = (
    r"(?: of|:|(?: (?:of|in|at|on|for|inside) (?:(?:the|its|this|an?) )?[a-z]+)?"
    r" (?:is|was|are|were|reached|reaches|exceeds|exceeded|averages|averaged|hit)) "
)
_LENGTH = frozenset({"length"})
_WHAT: dict[str, tuple[str, frozenset[str], str]] = {
    "weigh": (r"\bweigh(?:s|ed|ing|ed in at|s in at)? ", frozenset({"mass", "force"}), "a weight"),
    "weight": (r"\b(?:weight|mass)" + _IS, frozenset({"mass", "force", "energy", "pressure"}), "a weight"),
    "height": (r"\bheight" + _IS,
               frozenset({"length", "angle", "time", "pressure"}), "a height"),
    "altitude": (r"\b(?:altitude|elevation)" + _IS, frozenset({"length", "angle", "pressure"}), "a height"),
    "length": (r"\blength" + _IS, frozenset({"length", "time", "data", "angle"}), "a length"),
    "covered": (r"\b(?:covered|ran|swam|cycled|walked|covering) (?:a|the) (?:total )?distance of ",
                _LENGTH, "a distance"),
    "distance": (r"\bdistance" + _IS, frozenset({"length", "time", "angle"}), "a distance"),
    "width": (r"\b(?:width|thickness)" + _IS, frozenset({"length", "angle", "time", "frequency"}), "a length"),
    "depth": (r"\b(?:diameter|radius|wingspan|depth)" + _IS,
              frozenset({"length", "angle", "data", "pressure"}), "a length"),
    "spans": (r"\b(?:bridge|tunnel|viaduct|road|wall|fence) (?:spans|spanned|stretches|runs|extends) (?:for )?",
              frozenset({"length", "angle", "time", "area"}), "a length"),
    "speed": (r"\b(?:speed|speeds|velocity|speed limit)(?: here| there)?" + _IS,
              frozenset({"speed", "frequency", "angle"}), "a speed"),
    "area": (r"\barea" + _IS, frozenset({"area", "length", "angle"}), "an area"),
    "volume": (r"\bvolume" + _IS, frozenset({"volume", "mass", "data", "energy", "area"}), "a volume"),
    "temperature": (r"\btemperatures?" + _IS,
                    frozenset({"temperature", "energy", "angle"}), "a temperature"),
    "kept": (r"\btemperatures? (?:is|was|were|are) (?:kept|held|maintained|set|stable) (?:at|to) ",
             frozenset({"temperature", "energy", "angle"}), "a temperature"),
    "temperature-change": (
        r"\btemperatures? (?:dropped|fell|rose|climbed|sank|reached|increased|decreased)(?: to| by)? ",
        frozenset({"temperature", "energy", "angle"}), "a temperature",
    ),
    "duration": (r"\b(?:duration|running time|runtime|lifetime)" + _IS, frozenset({"time"}), "a duration"),
    "moved": (
        r"\b(?:ran|walked|drove|drives|flew|travel+ed|travels|swam|cycled|hiked|jogged|rowed|sailed|marched) ",
        frozenset({"length", "time", "speed", "angle"}), "a distance",
    ),
    "heated": (
        r"\b(?:(?:pre)?heat(?:ed|ing|s)?(?: [a-z]+){0,3} to |heated|cooled|warmed|boils|melts|freezes|melted"
        r"|boiled|baked?|frozen|chilled)(?:(?<= )|(?: (?:to|at))+ )",
        frozenset({"temperature", "energy", "angle", "pressure", "power"}), "a temperature",
    ),
    "stands": (r"\b(?:stands|stood) (?=[^ ]+ (?:tall|high)\b)", frozenset({"length"}), "a height"),
    "capacity": (
        r"\b(?:tank|bottle|barrel|jug|bucket|cup|pot|reservoir|bag|sack|box|jar|can|glass|carton|tub|container)"
        r" (?:holds|held|can hold|contains) ",
        frozenset({"volume", "mass", "energy", "time", "data"}), "a volume",
    ),
    "took": (
        r"\b(?:flight|journey|trip|drive|race|game|meeting|voyage|ride|construction|concert|lecture|hike|walk"
        r"|crossing|hearing"
        r"|operation|procedure|exam|session|recovery|commute|climb|tour|ascent|repair|installation"
        r"|delivery) (?:took|takes) ",
        frozenset({"time", "energy"}), "a duration",
    ),
    "drank": (r"\b(?:drank|drinks?|drinking|poured|pour) ", frozenset({"volume", "mass", "energy"}), "a volume"),
    "wind": (r"\bwinds?(?: of|:| reached| reaching) ", frozenset({"speed", "force", "angle", "pressure"}), "a speed"),
    "pressure": (r"\bpressure" + _IS, frozenset({"pressure", "length", "force"}), "a pressure"),
    "voltage": (r"\bvoltage" + _IS, frozenset({"voltage"}), "a voltage"),
    "frequency": (r"\bfrequency" + _IS, frozenset({"frequency", "time", "energy", "length"}), "a frequency"),
    "storage": (
        r"\bcapacity" + _IS,
        frozenset({"volume", "mass", "energy", "power", "data", "time", "current", "speed", "force", "area"}),
        "a capacity",
    ),
    "rain": (
        r"\b(?:rainfall|precipitation|snowfall)" + _IS,
        frozenset({"length", "volume", "time", "area", "speed"}), "a depth of rain",
    ),
    "output": (
        r"\b(?:power|electrical |maximum |rated )?output" + _IS,
        frozenset({"power", "energy", "volume", "mass", "voltage", "current", "data", "frequency", "force", "speed"}),
        "an output",
    ),
    "event": (
        r"\b(?:concert|lecture|meeting|film|speech|show|war|match|ceremony|course|treatment|exam|lesson|strike|storm"
        r"|interview|operation|surgery|conference|festival|flight|journey|trip|drive|game|ride|session|hearing"
        r"|holiday) last(?:ed|s) (?:for )?",
        frozenset({"time"}), "a duration",
    ),
    "lasted": (r"\blast(?:ed|s) (?:for )?", frozenset({"time", "length"}), "a duration"),
}  # fmt: skip
_BEFORE = regex(
    # All begin a word: with one mark for that in front, most characters of a text fail at once.
    "|".join(f"(?P<{name.replace('-', '_')}>{row[0]})" for name, row in _WHAT.items()).join((r"\b(?:", ")"))
    + _HEDGE
    + slot("q", UNIT)
)
_CONTINUED = regex(r"['’]| ?(?:of |per |a (?:year|day|second|minute|hour)|/|\([^)]*\) ?(?:per|a|/))")
_POURED = regex(
    r" of (?:water|milk|beer|wine|juice|tea|coffee|oil|fuel|blood|petrol|gas|air"
    r"|cement|sand|flour|rice|sugar|grain|salt|soil)\b(?! column)"
)
_STEMS = (
    "weigh", "mass", "height", "altitude", "elevation", "length", "distance", "width", "diameter", "radius",
    "wingspan", "thickness", "depth", "speed", "velocity", "area", "volume", "temperature", "duration", "time ",
    "lasted ", "lasts ", "spans ", "spanned ", "stretches ", "runs ", "extends ",
    "ran ", "walked ", "drove ", "drives ", "flew ", "travel", "swam ", "cycled ", "hiked ",
    "jogged ", "rowed ", "sailed ", "marched ", "heat", "cooled ", "warmed ", "boil", "melt", "freezes ",
    "bake", "frozen ",
    "chilled ", "given", "add",
    "took ", "takes ", "drank ", "drink", "pour", "wind", "stands ", "stood ", "hold", "held", "contains ",
    "output", "pressure", "voltage", "frequency", "capacity", "rainfall", "precipitation", "snowfall",
)  # fmt: skip
_WORDS = (
    *(each.strip() for each in _STEMS), "take", "tall", "long", "wide", "deep", "high", "thick", "heavy",
)  # fmt: skip
_CUES = cues(*(f" {each.strip()}" for each in _STEMS)) | stems(
    "tak preheat runtime running lifetime tall_ long_ wide_ deep_ high_ thick_ heavy_ saline water milk beer wine "
    "juice tea coffee oil fuel blood petrol diesel flour rice sugar butter salt cement sand stock broth cream "
    "plasma glucose ethanol solution honey cheese chocolate vinegar"
)
"""What the patterns have: words before the unit, which begin with a stem, or words behind it."""
_ADJECTIVES = {
    "tall": (_LENGTH, "a height"), "long": (frozenset({"length", "time", "data", "angle"}), "a length"),
    "wide": (frozenset({"length", "angle"}), "a width"), "deep": (frozenset({"length", "time"}), "a depth"),
    "high": (frozenset({"length", "angle"}), "a height"), "thick": (_LENGTH, "a thickness"),
    "heavy": (frozenset({"mass", "force"}), "a weight"),
}  # fmt: skip
_MEASURES = {
    "length": (frozenset({"length", "time", "data", "angle"}), "a length"), "height": (_LENGTH, "a height"),
    "width": (_LENGTH, "a width"), "depth": (_LENGTH, "a depth"),
    "diameter": (frozenset({"length", "angle"}), "a length"),
    "weight": (frozenset({"mass", "force"}), "a weight"), "duration": (frozenset({"time"}), "a duration"),
    "area": (frozenset({"area", "length"}), "an area"), "volume": (frozenset({"volume", "mass", "data"}), "a volume"),
}  # fmt: skip
_AFTER = regex(
    rf"\b(?:is|are|was|were) {_HEDGE}{slot('q', UNIT)} (?P<what>{'|'.join(_ADJECTIVES)})\b(?! ?(?:-|enough))"
    rf"|{slot('q2', UNIT)}[ -](?P<what2>{'|'.join(_ADJECTIVES)})(?=[.,;)]|$| (?:and|with|at|when|by|but)\b)"
)
_TAKES = regex(
    rf"\btakes? (?:[a-z]+ )?{_HEDGE}{slot('q', UNIT)} to (?P<what>walk|drive|reach|get|complete|finish|fly|read|cook"
    r"|travel|cross|climb|build|arrive)\b"
)
_RAN = regex(
    rf"\b(?:ran|swam|rowed|cycled|walked|jogged|hiked|drove|flew|sailed|marched) (?:the |his |her |their |an? )?"
    rf"(?:[a-z]+ )?{slot('d', UNIT)}(?: [a-z]+)? in {_HEDGE}{slot('q', UNIT)}(?=[.,;)]|$| (?:and|but|to|at)\b)"
)
_RUN_IN = frozenset({"time", "volume", "mass", "energy"})
_IN_LENGTH = regex(rf"{slot('q', UNIT)} in (?P<what>{'|'.join(_MEASURES)})\b")


def _before_units(skeleton: str) -> Iterator[re.Match[str]]:
    """Matches right before the quantities with a unit; the words before each are looked at first."""
    at = skeleton.find(UNIT)
    while at >= 0:
        begin = max(0, at - 70)
        window = skeleton[begin:at]
        if any(map(window.__contains__, _STEMS)):  # faster than one pattern of all stems
            yield from _BEFORE.finditer(skeleton, begin, at + 2)
        at = skeleton.find(UNIT, at + 2)


@rules.register("unit")
class UnitFit(Rule):
    """The unit of a weight, height, speed, ... must measure that."""

    title = "unit does not fit"
    help = "A weight, length, speed, ... is given in a unit that measures something else."
    needs = (UNITS[1],)
    cues = _CUES

    def wants(self, tally: Tally, text: str) -> bool:
        """A quantity with a unit, and a word for what it measures."""
        if not tally.units:
            return False
        low = text.lower()
        return any(map(low.__contains__, _WORDS))

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Compares nouns, verbs and adjectives with the unit beside them."""
        skeleton = sentence.skeleton
        if UNIT not in skeleton:
            return
        for match in _before_units(skeleton):
            name = next(key for key, value in match.groupdict().items() if value is not None and key != "q")
            _, allowed, what = _WHAT[name.replace("_", "-")]
            yield from self._compared(sentence, match, allowed, what)
        for match in matches(skeleton, ((tuple(_ADJECTIVES), _AFTER),)):
            name = "q" if match["q"] else "q2"
            yield from self._compared(sentence, match, *_ADJECTIVES[match["what"] or match["what2"]], name)
        for match in matches(skeleton, (((" take",), _TAKES),)):
            yield from self._compared(sentence, match, frozenset({"time", "energy", "volume", "length"}), "a duration")
        for match in matches(skeleton, (((" in ",), _RAN),)) if skeleton.count(UNIT) > 1 else ():
            if dimension_name(sentence.get(match, "d").unit or "") == "length":
                yield from self._compared(sentence, match, _RUN_IN, "a time")
        for match in matches(skeleton, (((" in ",), _IN_LENGTH),)):
            yield from self._compared(sentence, match, *_MEASURES[match["what"]])

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Compares things and activities with the unit beside them."""
        for sentence in sentences:
            tally = sentence.tally
            if (tally.units or tally.percents) and any(
                each.unit is not None and each.kind != "money" for each in sentence.numerals
            ):
                begin = max(0, sentence.offset - 150)
                before = document.text[begin : sentence.offset].lower() if "eigh" in sentence.text else ""
                yield from unit_nouns(sentence, before)
                yield from home_areas(sentence)

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Compares the units of the cells of a column with what it is named after."""
        return unit_columns(document)

    def _compared(
        self, sentence: Sentence, match: re.Match[str], allowed: frozenset[str], what: str, slot_name: str = "q"
    ) -> Iterable[Finding]:
        quantity = sentence.get(match, slot_name)
        measured = dimension_name(quantity.unit or "")
        if measured is None or measured in allowed or any(n.confidence != "certain" for n in quantity.numerals):
            return
        if measured == "time" and match.groupdict().get("what2") == "high":
            return  # a record: `a six-month high`
        # `a speed of 15 m (49 ft) per year`, `the mass of one cubic metre of water`.
        if _CONTINUED.match(sentence.skeleton, match.end(slot_name)) and not _POURED.match(
            sentence.skeleton, match.end(slot_name)
        ):
            return
        message = f"{quantity.text} cannot be {what}: {quantity.unit} is a unit of {measured}."
        yield finding_at("unit", quantity, message, unit=quantity.unit, measures=measured)
