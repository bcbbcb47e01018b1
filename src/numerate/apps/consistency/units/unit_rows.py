"""What things and activities are measured in: words beside a quantity, and dimensions that it cannot have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import UNIT, slot

if TYPE_CHECKING:
    import re

__all__ = ["HEDGE", "ROWS", "Row", "rows_for"]

_Q = slot("q", UNIT)
HEDGE = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|over|under|up to|more than|less than"
    r"|at least|only|just|some|another|a|an|the|of|to|at|as much as|well over) )*"
)
_IS = r"(?: (?:of|is|was|at|were|reached|reaching|hit|peaked at|stood at|:)|:|=)* "
_END = (
    r"(?=[.,;:)]|$| (?:and|in|to|was|were|have|has|had|between|on|with|by|are|for|along|that|which|from|at|this|last"
    r"|since|through|a year|per|each|every|around|across|is|will|within|over|so|before|after)\b)"
)
_LIQUID = (
    r"(?:milk|beer|wine|petrol|diesel|gasoline|fuel|juice|blood|crude|cider|rainwater|sewage|paint|whisky|lemonade"
    r"|liquid gas|natural gas|lng|kerosene|oil)"
)
_SUBSTANCES = (
    "water|milk|beer|wine|juice|tea|coffee|oil|fuel|blood|petrol|diesel|flour|rice|sugar|butter|salt|cement|sand|stock|broth"
    "|cream|plasma|glucose|saline|solution|honey|cheese|chocolate|vinegar|dough|meat|beef|chicken|potatoe|tomatoe|onion"
    "|apple|pasta|soup|gravel|compost|manure|fertili[sz]er|soil|coal|hay|grain|wheat|concrete|paint|waste|fish|gold"
)
"""What is weighed or poured, without a plural `s`."""
_WATER = r"(?:water|drinking water|seawater|fresh water|freshwater|rainwater|meltwater)"


MOST_WORDS = 20_000
"""Words whose rows are kept; then all are forgotten."""


class Row(NamedTuple):
    """Words that must be there, the pattern, the dimensions that its unit cannot have, and what it measures."""

    cues: tuple[str, ...]
    pattern: re.Pattern[str]
    wrong: frozenset[str]
    what: str


def _row(cues: str, pattern: str, wrong: str, what: str) -> Row:
    return Row(tuple(cues.lower().split("|")), regex(pattern), frozenset(wrong.split()), what)


ROWS = (
    _row("freez|frost|outside|cold|thermometer|weather|overnight",
        rf"\b(?:minus|plus|below) {_Q}",
        "mass volume area speed power", "a temperature"),
    _row(" of water|water",
        r"\b(?:stor|hold|contain|impound|pump|deliver|suppl|discharg|consum|us|drain|releas|tak|need"
        r"|provid|treat|process|swallow|los|drink|leak)\w* (?:back |up to |in |out "
        rf"|away )?{HEDGE}{_Q} of {_WATER}\b(?! (?:column|surface|pipe|main))",
        "area temperature speed voltage time power pressure frequency length", "an amount of water"),
    _row(_SUBSTANCES,
        rf"{_Q} of (?:(?!the |his |her |its |their |our |my )[a-z-]+ )?(?:{_SUBSTANCES})s?\b(?!-| (?:column|bath"
        rf"|stations?|routes?"
        r"|fields?|roads?|pipes?|pipelines?|tracks?|beach|coast|desert|land|trails?|dunes?))",
        "temperature speed voltage frequency length", "an amount of it"),
    _row("beer|milk|wine|petrol|diesel|gasoline|fuel|juice|blood|crude|cider|sewage|paint|whisky|lemonade|gas|lng|kerosene|oil",
        rf"{_Q} of (?:(?!the|his|her|its)[a-z-]+ )?{_LIQUID}\b(?!-| (?:tank|pipe|pipeline|field|well|paint|column|bath"
        r"|station|stain|spill|palm|vessel|land|lease|acreage|barrel)s?\b)",
        "area length temperature speed voltage pressure frequency", "an amount of a liquid"),
    _row(
        "road|track|rail|motorway|cable|pipe|fenc|coast|trail|path|tunnel|canal|wall|hose|street|highway"
        "|hedge|dyke|beach|river",
        rf"{_Q} of (?:(?:new|old|dirt|paved|cycle|hiking|single|double|sandy|main|city|rural|winding"
        r"|forest|gravel|fibre|fiber|optic|copper|unpaved|narrow|rocky|water|gas|walking|bike|footpath|mountain"
        r"|country) )*(?:roads?|tracks?|railway|railways|motorways?|cables?|pipes?|pipelines?|fenc(?:e|es|ing)|coast"
        r"|coastline|shoreline|trails?|paths?|tunnels?|canals?|walls?|hoses?|streets?|highways?|hedges?"
        rf"|dykes?|beach|beaches|river)\b(?!-){_END}",
        "volume temperature speed energy power pressure voltage frequency", "a length"),
    _row("land|forest|space|vineyard|pasture|lawn|carpet|meadow|field|marsh|wood|moor|garden",
        rf"{_Q} of (?:(?:arable|agricultural|public|private|open|protected|dense|new|prime|green|unused"
        r"|farm|native|leased|commercial) )*(?:land|farmland|forest|woodland|floor space|office space"
        r"|retail space|parkland|vineyards?|pasture|lawn|carpet|meadows?|wetlands?|grassland|moorland"
        rf"|desert|rainforest)\b{_END}",
        "volume mass speed temperature energy power pressure voltage frequency", "an area"),
    _row("gust|wind|breeze",
        r"\b(?:gusts?|gusting|wind speeds?|sustained winds|winds?)(?: [a-z]+){0,3}?(?: (?:of|reach\w*"
        r"|hit\w*|up to|to|at|topp\w+|blew|peak\w*|exceed\w*|averag\w*|record\w*|measur\w*"
        rf"|clocked))+ {HEDGE}{_Q}(?! (?:above|high|altitude|height))",
        "pressure mass area volume temperature energy voltage concentration", "a wind speed"),
    _row("power",
        r"\b(?:rated|peak|maximum|max\.|engine|installed|motor|nominal|heating|cooling|output|electric"
        rf"|electrical|thermal|charging|its|a) power(?: output| rating)?{_IS}{HEDGE}{_Q}(?! ?(?:a|per"
        r"|each|every) )",
        "energy volume temperature area length mass", "a power"),
    _row("rated",
        r"\b(?:motor|engine|heater|kettle|boiler|pump|panels?|turbine|inverter|generator|oven|drill"
        rf"|charger|lamp|bulb)[a-z ,]{{0,20}}? rated at {HEDGE}{_Q}(?! ?(?:a|per|/) )",
        "energy mass volume temperature area length", "a power"),
    _row("electricity|energy|power",
        rf"\b(?:consum|us|generat|produc|need|sav)(?:es?|ed|ing|s|e) {HEDGE}{_Q} of (?:electricity|energy"
        r"|power|electrical energy) (?:a|per|each|every|in an?|over an?|last|this|in the whole) (?:year"
        r"|month|week|day|season|quarter)",
        "power mass volume temperature length area", "an amount of energy"),
    _row("electricity",
        rf"{_Q} of electricity\b",
        "mass volume temperature length area", "an amount of energy"),
    _row("volume",
        rf"\b(?:hold|store|contain|have|has|had|with)\w*(?: up to)? a (?:total )?volume of {HEDGE}{_Q}",
        "area length temperature speed power", "a volume"),
    _row("electricity|energy",
        rf"\b(?:(?:over|in|during|for|through) (?:the |an? )?(?:(?:past|last|whole|previous|full|entire|calendar) )*"
        rf"(?:months?|weeks?|year|quarter|week|season|\ue001[\ue100-\uf8ff]|\ue004[\ue100-\uf8ff])|(?:last"
        rf"|this) (?:year|month|quarter|winter|summer))(?!\w)"
        rf"[^.;]{{0,60}}?\b(?:consum|us|need|sav)(?:es?|ed|ing|s"
        rf"|e)(?: up)? {HEDGE}{_Q}(?: of (?:electricity|energy|power))",
        "power mass volume temperature length area", "an amount of energy"),
    _row("annual|yearly|monthly",
        r"\b(?:annual|yearly|monthly)(?: (?:electricity|energy|power|electric|heat))+ (?:consumption|use"
        r"|usage|production|yield|needs)"
        rf"(?: [a-z]+){{0,4}}?{_IS}{HEDGE}{_Q}",
        "power voltage mass temperature length area", "an amount of energy"),
    _row("onsumption",
        rf"\b(?:energy|electricity|power)(?: [a-z]+)? consumption{_IS}{HEDGE}{_Q}",
        "mass temperature length area speed", "an amount of energy"),
    _row("temp",
        rf"\b(?:temp\.?|body temperature){_IS}{HEDGE}{_Q}",
        "pressure concentration mass length frequency volume", "a temperature"),
    _row("HR |eart rate|ulse",
        rf"\b(?:hr|heart rate|resting heart rate|pulse(?: rate)?){_IS}{HEDGE}{_Q}",
        "concentration pressure temperature length mass volume area", "a heart rate"),
    _row("RR |espiratory rate|reathing rate",
        rf"\b(?:rr|respiratory rate|breathing rate|resp\. rate){_IS}{HEDGE}{_Q}",
        "concentration pressure temperature length mass area", "a breathing rate"),
    _row("BP |lood pressure|systolic",
        r"\b(?:bp|blood pressure|systolic(?: pressure)?"
        rf"|diastolic(?: pressure)?){_IS}{HEDGE}(?:[\ue000-\ue009][\ue100-\uf8ff] ?/ ?)?{_Q}",
        "concentration temperature mass volume area speed frequency energy", "a blood pressure"),
    _row(
        "lucose|reatinine|holesterol|odium|otassium|emoglobin|aemoglobin|lactate|CRP|alcium|ferritin"
        "|bilirubin|urea|insulin",
        r"\b(?:glucose|creatinine|cholesterol|sodium|potassium|ha?emoglobin|lactate|crp|calcium|ferritin"
        rf"|bilirubin|urea|hdl|ldl)(?: level| concentration)?{_IS}{HEDGE}{_Q}{_END}",
        "pressure temperature length area speed frequency", "a concentration"),
    _row("SpO|aturation",
        rf"\b(?:spo2|spo₂|oxygen saturation|o2 sats?){_IS}{HEDGE}{_Q}",
        "concentration pressure temperature length mass volume area", "a saturation"),
    _row("locked|aught|peeding|topped",
        rf"\b(?:clocked|caught|speeding|flashed|sped)(?: [a-z]+){{0,3}}? at {HEDGE}{_Q}(?! (?:away|from|above))",
        "mass area volume temperature pressure energy power length concentration", "a speed"),
    _row("ravel|riv|ruis|oing|peed",
        r"\b(?:travel+ing|driving|cruis(?:es|ing|ed)|doing|racing"
        rf"|going) (?:along )?(?:at )?{HEDGE}{_Q}{_END}(?! (?:above|altitude|elevation))",
        "mass area temperature pressure energy concentration", "a speed"),
    _row("rea ",
        r"\b(?:cover(?:s|ed|ing)?|occup(?:y|ies|ied|ying)|has|have|with|spans?) an? (?:total |floor "
        rf"|surface |land |combined |overall |built-up )?area of {HEDGE}{_Q}(?=[.,;]|$| and (?!\ue001))",
        "length mass volume temperature time speed energy", "an area"),
    _row("surface|footprint|floor space|plot|site",
        rf"\b(?:surface|footprint|floor space|plot|roof surface) of {HEDGE}{_Q}(?=[.,;]|$| and\b)",
        "mass volume temperature speed energy length", "an area"),
    _row("heat|Heat|bake|Bake|roast|Roast|oven|cook|Cook",
        rf"\b(?:(?:pre)?heat(?:ed)?|bake[ds]?|roast(?:ed)?|oven|cook(?:ed)?)(?: [a-z]+){{0,4}}? (?:to"
        rf"|at) {HEDGE}{_Q}",
        "mass volume length area speed", "a temperature"),
    _row(" for ",
        r"\b(?:simmer|bak|boil|cook|rest(?! of)|chill|fry|fri|roast|knead|steep|marinat|prov|soak|grill|steam"
        r"|microwav|refrigerat|braise|whisk|beat)(?:e|ed|es|s|ing"
        rf"|y)?(?: (?!for\b)[a-z]+){{0,7}}? for {HEDGE}{_Q}",
        "mass volume area temperature speed energy pressure", "a duration"),
    _row(" for ",
        r"\b(?:simmer|bak|boil|roast|knead|marinat|soak|grill|steam|microwav|refrigerat|stirr?|shak|incubat|centrifug"
        r"|sonicat|ferment|defrost|sterili[sz]|pasteuri[sz]|autoclav|anneal|sinter|vortex)(?:e|ed|es|s|ing)?"
        rf"(?: (?!for\b)[a-z]+){{0,5}}? for {HEDGE}{_Q}",
        "length mass volume area temperature speed energy pressure", "a duration"),
    _row("away|from the",
        rf"\b(?:is|lies|are|was|situated|located|stands) {HEDGE}{_Q} (?:away|from the (?:station|coast"
        r"|centre|center|sea|border|town|village|airport|beach|city))",
        "mass area volume temperature pressure energy power", "a distance"),
    _row("north|south|east|west|upstream|downstream|inland|offshore|from here|down the road",
        rf"\b(?:is|lies|are|was|were|situated|located|stands|live[sd]?|village|town) {HEDGE}{_Q}"
        r" (?:due )?(?:(?:north|south)?[ -]?(?:east|west|north|south)(?:ern|wards?)? of|upstream|downstream|inland"
        r"|offshore|from here|down the road)\b",
        "mass area volume temperature pressure energy power", "a distance"),
    _row(" old|aged ",
        rf"\b(?:aged|at the age of) {_Q}(?! (?:in|to))|{slot('r', UNIT)}[ -]old\b",
        "mass area volume temperature pressure energy power length speed", "an age"),
    _row("run|walk|hike|swim|jog|trek|detour|drive|ride|journey|trip|flight|commute|climb|march|crossing",
        rf"\b(?:an?|the|his|her|our|their|first|daily)(?: (?:[a-z-]+"
        rf"|\ue001[\ue100-\uf8ff]),)? {_Q}[ -](?:[a-z]+ )?(?:run|walk|hike|swim|jog|trek|stroll"
        r"|detour|drive|ride|journey|trip|flight|commute|climb|march|crossing)\b",
        "mass area temperature pressure volume data", "a distance"),
    _row("run of|walk of|hike of|swim of|march of|drive of|ride of|journey of|trip of|detour of|flight of|climb of",
        r"\b(?:an?|the|his|her|our|their|this|that|whole)(?: [a-z-]+){0,2} (?:run|walk|hike|swim|march|drive|ride"
        rf"|journey|trip|detour|flight|climb|commute) of {HEDGE}{_Q}",
        "mass area temperature pressure volume data energy power", "a distance"),
    _row("cocaine|heroin|cannabis|marijuana|hashish|explosives|dynamite|tobacco",
        rf"{_Q} of (?:(?!the |his |her |its )[a-z-]+ )?(?:cocaine|heroin|cannabis|marijuana|hashish|explosives|dynamite"
        r"|tobacco)\b(?!-| (?:fields?|plants?|leaves))",
        "temperature speed voltage frequency length time power pressure", "an amount of it"),
    _row("rea |rea:|space",
        rf"\b(?:floor|living|surface|usable|plot|land|roof|built-up|office|exhibition) (?:area|space)"
        rf"(?: of| is| was| measures|:|,)? {HEDGE}{_Q}",
        "volume mass temperature speed energy power", "an area"),
    _row("memory|RAM|storage|disk",
        rf"{_Q} of (?:[a-z-]+ )?(?:memory|ram|disk space|flash)\b",
        "frequency length mass voltage power temperature", "an amount of data"),
    _row("storage", rf"{_Q} of (?:[a-z-]+ )?storage\b", "frequency voltage temperature", "a stored amount"),
    _row("bulb|lamp|led|heater|fridge|kettle|motor|boiler|charger|router|screen|pump",
        rf"\b(?:bulb|lamp|led|heater|fridge|kettle|motor|boiler|charger|router|screen"
        rf"|pump)s?(?: [a-z]+)? (?:draws?|drew"
        rf"|consumes?) {HEDGE}{_Q}",
        "voltage mass length area temperature", "a power"),
    _row("cover|ran |walk|cycl|swam|rode|row",
        rf"\b(?:covered|ran|walked|cycled|swam|rode|rowed|hiked|jogged)(?! at )(?: (?:the|a|last|first"
        rf"|final|remaining|another|total of))* {HEDGE}{_Q}(?! of (?:ground|land))",
        "mass temperature pressure energy voltage", "a distance"),
    _row("load of|carries|carry|lifts",
        rf"\b(?:loads? of|(?:lift|elevator|crane|lorry|van|truck|trailer|hoist|winch)(?: [a-z]+)? (?:carries"
        rf"|lifts|can carry"
        rf"|can lift|holds)) {HEDGE}{_Q}",
        "length area temperature speed time", "a load"),
    _row("threw|throw|jump|leap|leapt|hurl",
        rf"\b(?:threw|throws?|jump(?:ed|s)|leap(?:ed|t|s)|hurl(?:ed|s))(?: (?:the|a) [a-z]+)? {HEDGE}{_Q}{_END}",
        "mass volume temperature area energy", "a distance"),
    _row("in size", rf"{_Q} in size\b", "mass temperature speed time power", "a size"),
    _row("ccelerat|top speed|speed limit",
        rf"\b(?:accelerat(?:e|es|ed|ing)(?: [a-z]+){{0,2}}? to|top speed(?: of| is| was|:)|speed limit(?: of"
        rf"| is| was|:)) "
        rf"{HEDGE}{_Q}",
        "mass volume temperature area length power", "a speed"),
    _row("vaccine|fridge|freezer|vials|samples|insulin|serum|meat|milk",
        rf"\b(?:keep|kept|stor(?:e|ed|ing)|transport(?:ed)?)\b[^.;\ue000-\uf8ff]{{0,40}}? (?:at|below"
        rf"|under) {HEDGE}{_Q}",
        "mass volume area speed power energy", "a temperature"),
    _row("urrent|attery",
        rf"\bcurrent (?:through|in|of) (?:the )?[a-z]+{_IS}{HEDGE}{_Q}|\bbattery(?: pack)? (?:stores|holds"
        rf"|has a capacity of) "
        rf"{HEDGE}{slot('r', UNIT)}",
        "temperature length mass area speed", "a current or a charge"),
    _row("infusion|transfusion|injection|bolus|Infusion|Transfusion|Injection|Bolus",
        rf"\b(?:infusion|transfusion|injection|bolus) of {HEDGE}{_Q}",
        "length speed temperature area power pressure", "an amount of it"),
    _row("dose|Dose", rf"\b(?:dose|doses|dosage) of {HEDGE}{_Q}", "length speed temperature area power", "a dose"),
    _row("nflate",
        rf"\binflated? (?:[a-z]+ ){{0,3}}?to {HEDGE}{_Q}",
        "temperature mass length speed volume area", "a pressure"),
    _row("epth|eep",
        rf"\b(?:depths?|depth of [a-z]+)(?: of| reaches| is| was) {HEDGE}{_Q}",
        "mass volume temperature area speed energy", "a depth"),
    _row("apacity|tank",
        rf"\b(?:fuel|petrol|water|oil) tank(?: capacity)?(?: of| holds| takes| is| with)+ {HEDGE}{_Q}",
        "length area speed temperature time power", "a volume"),
    _row("ltitude|levation|sea level",
        rf"{_Q} (?:above|below) sea level\b|\b(?:at an? )?(?:altitude|elevation) of {HEDGE}{slot('r', UNIT)}",
        "mass volume temperature area speed energy", "a height"),
    _row("emperature",
        rf"\btemperatures?(?: [a-z]+){{0,4}}? (?:of|to|at|reached|below|above|between|is|was|around) {HEDGE}{_Q}",
        "mass volume length area speed power concentration", "a temperature"),
    _row("weigh|weight",
        rf"\b(?:weigh(?:s|ed|ing)?|weight(?: of| is| was|:))(?: in)?(?: at)? {HEDGE}{_Q}",
        "length volume area temperature speed time power", "a weight"),
    _row("bandwidth|ownload|pload",
        rf"\b(?:bandwidth|download speed|upload speed)s?{_IS}{HEDGE}{_Q}",
        "length mass volume temperature area", "a data rate"),
)  # fmt: skip


class _RowsOfWords(dict[str, int]):
    """The rows of each word that was met, as bits: those of which it has a cue, or the longest word of one."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = [(1 << at, {max(cue.split(), key=len) for cue in row.cues}) for at, row in enumerate(ROWS)]

    def __missing__(self, word: str) -> int:
        if len(self) >= MOST_WORDS:
            self.clear()
        found = self[word] = sum(bit for bit, pieces in self._pieces if any(map(word.__contains__, pieces)))
        return found


_rows_of_words = _RowsOfWords()


def rows_for(text: str) -> list[Row]:
    """The rows that may have a cue in a text in lower case; most have none.

    Example:
        >>> [row.what for row in rows_for("the inflated tyre")]
        ['a pressure']
    """
    bits = 0
    for each in map(_rows_of_words.__getitem__, text.split()):
        bits |= each
    return [row for at, row in enumerate(ROWS) if bits >> at & 1] if bits else []
