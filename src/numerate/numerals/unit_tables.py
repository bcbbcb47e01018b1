"""The spellings of units and currencies, ours and pint's: tables of words, and the few lines that multiply them out.

A new unit is one new entry here; `tests/test_units.py` checks that pint knows every normal spelling.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

__all__ = [
    "CODES",
    "CURRENCIES",
    "CURRENCY_SIGNS",
    "DOLLAR_SIGNS",
    "LENGTHS",
    "LONE_LETTERS",
    "NOT_CONVERTIBLE",
    "PHRASES",
    "PINT",
    "PLAIN",
    "POWER_WORDS",
    "SAME",
    "UNITS",
    "VETO",
    "pint_registry",
    "pint_unit",
]

# --- SI: base symbol -> prefixes in use. Left out because they are words or something else far more often:
# pm, am, as, at, us, dm (D-mark), mb, kb, kt (kilotonne or knot), Mg, MA, MN, PA, cd with prefixes.
_PREFIXES = {
    "m": "fnµmck",
    "g": "pnµmk",
    "L": "fnµmcdh",
    "s": "fpnµm",
    "t": "MG",
    "Hz": "mkMGT",
    "W": "nµmkMGT",
    "Wh": "mkMGT",
    "V": "nµmkM",
    "A": "pnµmk",
    "Ah": "mk",
    "Ω": "mkMG",
    "J": "nµmkMGTPE",
    "eV": "mkMGTP",
    "N": "pnµmk",
    "Pa": "µmhkMG",
    "bar": "µmk",
    "K": "nµm",
    "mol": "fpnµmk",
    "M": "fpnµm",
    "T": "nµm",
    "F": "pnµm",
    "H": "nµm",
    "Gy": "µmc",
    "Sv": "nµm",
    "Bq": "mkMGT",
    "pc": "kMG",
    "bit": "kMGT",
    "B": "kMGTPE",
    "cal": "k",
    "lm": "",
    "cd": "",
    "rad": "mµ",
    "dB": "",
}
_PREFIX_NAMES = {"f": "femto", "p": "pico", "n": "nano", "µ": "micro", "m": "milli", "c": "centi", "d": "deci"}
_PREFIX_NAMES |= {"h": "hecto", "k": "kilo", "M": "mega", "G": "giga", "T": "tera", "P": "peta", "E": "exa"}
# Prefixed symbols only (`mM`, `mT`, `µF`): the bare letter is a scale suffix, an identifier or a word.
_NO_BARE_SYMBOL = {"M", "T", "F", "H", "B", "pc"}
_SI_NAMES = {
    "m": "metre metres meter meters",
    "g": "gram grams gramme grammes",
    "L": "litre litres liter liters",
    "s": "second seconds",
    "t": "tonne tonnes",
    "Hz": "hertz",
    "W": "watt watts",
    "V": "volt volts",
    "A": "amp amps ampere amperes",
    "Ω": "ohm ohms",
    "J": "joule joules",
    "eV": "electronvolt electronvolts",
    "N": "newton newtons",
    "Pa": "pascal pascals",
    "K": "kelvin kelvins",
    "mol": "mole moles",
    "T": "tesla teslas",
    "F": "farad farads",
    "Sv": "sievert sieverts",
    "Bq": "becquerel becquerels",
    "pc": "parsec parsecs",
    "bit": "bit bits",
    "B": "byte bytes",
    "cal": "calorie calories",
    "lm": "lumen lumens",
    "cd": "candela candelas",
    "rad": "radian radians",
    "dB": "decibel decibels",
}

# --- Everything else. Symbols are taken as they stand, in this case only.
_SYMBOLS = {
    "L": "l",
    "mL": "ml",
    "dL": "dl",
    "cL": "cl",
    "µL": "ul uL µl μl",
    "km": "KM Km kms KMS",
    "cm": "CM cms",
    "kg": "KG Kg kgs KGS Kgs",
    "µs": "us usec",
    "ms": "msec",
    "ns": "nsec",
    "min": "min mins Min",
    "h": "h hr hrs Hrs HRS",
    "s": "sec secs",
    "week": "wk wks",
    "month": "mo mos",
    "year": "yr yrs Yrs YRS y",
    "d": "d",
    "kHz": "KHz khz",
    "MHz": "Mhz mhz",
    "GHz": "Ghz ghz",
    "Hz": "hz HZ",
    "dB": "db",
    "kW": "KW Kw kw",
    "kWh": "KWh KWH kwh",
    "kΩ": "kohm kOhm",
    "lux": "lux lx",
    "Å": "Å \u212b",
    "KB": "KB",
    "GB": "gb",
    "TB": "tb",
    "KiB": "KiB",
    "MiB": "MiB",
    "GiB": "GiB",
    "TiB": "TiB",
    "kbit/s": "kbps Kbps",
    "Mbit/s": "Mbps mbps",
    "Gbit/s": "Gbps gbps",
    "Tbit/s": "Tbps",
    "km/h": "kph kmh kmph KPH",
    "cm^3": "cc ccm",
    "mi": "mi",
    "ft": "ft FT",
    "in": "in",
    "yd": "yd yds",
    "ft^2": "sqft",
    "m^2": "sqm",
    "km^2": "sqkm",
    "ha": "ha",
    "lb": "lb lbs LB LBS Lbs",
    "lbf": "lbf",
    "oz": "oz OZ",
    "ozt": "ozt",
    "gal": "gal gals",
    "qt": "qt qts",
    "tbsp": "tbsp",
    "tsp": "tsp",
    "mph": "mph MPH Mph",
    "mi/gal": "mpg MPG",
    "kn": "kn kts",
    "nmi": "nmi",
    "hp": "hp bhp HP",
    "psi": "psi PSI",
    "bbl": "bbl bbls BBL BBLS",
    "bbl/d": "bpd BPD bopd",
    "bu": "bu",
    "BTU": "BTU BTUs Btu btu",
    "atm": "atm",
    "Torr": "Torr torr",
    "mmHg": "mmHg",
    "mbar": "mbars",
    "IU": "IU",
    "bpm": "bpm BPM",
    "rpm": "rpm RPM",
    "ppm": "ppm PPM",
    "ppb": "ppb PPB",
    "au": "AU",
    "ly": "ly",
    "arcmin": "arcmin",
    "arcsec": "arcsec",
    "N*m": "Nm",
}
# Words are read in lower case, in capitals (headlines), and as plurals with a capital.
_WORDS = {
    "min": "minute minutes",
    "h": "hour hours",
    "d": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years",
    "decade": "decade decades",
    "century": "century centuries",
    "µm": "micron microns",
    "kg": "kilo kilos",
    "Å": "angstrom angstroms",
    "mi": "mile miles",
    "ft": "foot feet",
    "in": "inch inches",
    "yd": "yard yards",
    "acre": "acre acres",
    "ha": "hectare hectares",
    "lb": "pound pounds",
    "oz": "ounce ounces",
    "ton": "ton tons",
    "gal": "gallon gallons",
    "pt": "pint pints",  # not the symbol: `12 pt` is a size of type, `5 pts` are points
    "qt": "quart quarts",
    "tbsp": "tablespoon tablespoons",
    "tsp": "teaspoon teaspoons",
    "kn": "knot knots",
    "hp": "horsepower",
    "bbl": "barrel barrels",
    "bu": "bushel bushels",
    "mbar": "millibars",
    "carat": "carat carats",
    "°C": "celsius centigrade",
    "°F": "fahrenheit",
    "°": "deg degree degrees",
    "arcmin": "arcminute arcminutes",
    "arcsec": "arcsecond arcseconds",
    # Money. Not here: `mark` ("the 500 mark"), `won` (a verb), `crowns`, `real`, `lira` and `pound` without a country.
    "USD": "dollar dollars dlr dlrs",
    "cent": "cent cents ct cts",
    "penny": "pence pennies",
    "GBP": "stg sterling",
    "EUR": "euro euros",
    "JPY": "yen",
    "DEM": "marks deutschmarks deutschemarks",
    "FRF": "franc francs",
    "INR": "rupee rupees",
    "CNY": "yuan renminbi",
    "MXN": "peso pesos",
    "RUB": "rouble roubles ruble rubles",
    "NLG": "guilder guilders",
    "ITL": "lire",
    "ESP": "peseta pesetas",
    "PTE": "escudo escudos",
    "GRD": "drachma drachmas",
    "ATS": "schillings",
    "FIM": "markka",
    "BRL": "reais",
    "ZAR": "rand",
    "THB": "baht",
    "MYR": "ringgit",
    "IDR": "rupiah",
    "SAR": "riyals",
    "KWD": "dinars",
    "PLN": "zloty zlotys",
    "HUF": "forint forints",
    "ILS": "shekel shekels",
    "SEK": "kronor",
    "XEU": "ecus",
}
_SHORT_CAPITALS = "DLR DLRS CT CTS STG DAY DAYS TON TONS YEN FEET FOOT MILE WEEK YEAR HOUR INCH ACRE"
_NO_CAPITAL = {"miles", "marks"}  # Miles Davis, Marks & Spencer
_CAPITAL = {"feet", "kelvin", "celsius", "fahrenheit", "hertz"}

# --- Several words; a space stands for a space or a hyphen.
_COUNTRIES = {
    "dollar dollars dlr dlrs": "us USD,u.s. USD,american USD,canadian CAD,australian AUD,hong kong HKD,singapore SGD,"
    "new zealand NZD,nz NZD,n.z. NZD,taiwan TWD",
    "cent cents": "us cent,u.s. cent,canadian cent,australian cent",
    "franc francs": "swiss CHF,french FRF,belgian BEF,luxembourg LUF",
    "crown crowns krona kronor krone kroner": "swedish SEK,danish DKK,norwegian NOK",
    "pound pounds": "british GBP,uk GBP,irish IEP,egyptian EGP",
    "pounds": "sterling GBP",
    "mark marks": "d DEM,german DEM,west german DEM,deutsche DEM,finnish FIM",
    "lira lire": "turkish TRY,italian ITL",
    "peso pesos": "mexican MXN,philippine PHP,argentine ARS,chilean CLP,colombian COP",
    "rupee rupees": "indian INR,pakistani PKR",
    "riyals": "saudi SAR",
    "dinars": "kuwaiti KWD",
    "rand": "south african ZAR",
}
_PHRASES = {
    "GBP": "pounds sterling,pound sterling",
    "USD": "us$",
    "°C": "degrees celsius,degree celsius,degrees centigrade,degrees c,degree c,deg c,deg. c",
    "°F": "degrees fahrenheit,degree fahrenheit,degrees f,degree f,deg f,deg. f",
    "K": "degrees kelvin,degree kelvin",
    "t": "metric ton,metric tons,metric tonne,metric tonnes",
    "ton": "short ton,short tons",
    "long ton": "long ton,long tons",
    "nmi": "nautical mile,nautical miles",
    "ly": "light year,light years",
    "au": "astronomical unit,astronomical units",
    "IU": "international unit,international units",
    "mmHg": "mm hg",
    "ozt": "troy ounce,troy ounces,troy oz",
    "fl oz": "fluid ounce,fluid ounces,fl oz,fl. oz",
    "ft*lbf": "ft lb,ft lbs,ft lbf,foot pound,foot pounds,lb ft,pound feet,pound foot",
    "N*m": "n m,newton metre,newton metres,newton meter,newton meters",
    "acre*ft": "acre foot,acre feet",
    "Wh": "watt hour,watt hours",
    "kWh": "kilowatt hour,kilowatt hours,kw h,kw hr",
    "MWh": "megawatt hour,megawatt hours",
    "GWh": "gigawatt hour,gigawatt hours",
    "eV": "electron volt,electron volts",
    "bpm": "beats per minute",
    "rpm": "revolutions per minute,rev/min",
    "mph": "miles an hour",
    "km/h": "kilometres an hour,kilometers an hour",
    "bbl/d": "barrels a day",
}

_CODES = (
    "USD EUR GBP JPY CHF CAD AUD NZD CNY HKD SGD TWD KRW INR SEK NOK DKK ISK RUB UAH PLN CZK HUF BGN HRK ILS SAR AED "
    "QAR KWD BHD EGP NGN KES GHS ZAR THB MYR IDR PHP VND PKR BDT LKR KZT BRL MXN CLP UYU DEM FRF BEF LUF NLG ITL ATS "
    "PTE GRD FIM IEP XEU"
)
CODES: dict[str, str] = {code: code for code in _CODES.split()} | {"RMB": "CNY", "ECU": "XEU"}
"""Currency codes as written -> ISO code. Codes that are words in capitals (ALL, TRY, TOP, CUP, PEN) are not read."""

CURRENCIES: frozenset[str] = frozenset([*CODES.values(), "TRY", "ARS", "COP", "ESP", "cent", "penny"])
"""Units that are money: ISO codes, and `cent` and `penny`."""

CURRENCY_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
CURRENCY_SIGNS |= {"₪": "ILS", "฿": "THB", "₫": "VND", "₺": "TRY", "₴": "UAH", "₦": "NGN", "₱": "PHP", "¢": "cent"}
DOLLAR_SIGNS = {"US": "USD", "C": "CAD", "CA": "CAD", "Cdn": "CAD", "A": "AUD", "AU": "AUD", "HK": "HKD", "NZ": "NZD"}
DOLLAR_SIGNS |= {"R": "BRL", "S": "SGD", "NT": "TWD", "Mex": "MXN"}

LENGTHS = frozenset(["nm", "µm", "mm", "cm", "m", "km", "in", "ft", "yd", "mi"])
# Lone letters mean too many things: each place where a unit can stand has its own short list.
# Never a unit: A after a space (article), C F (20C, 70F), B M G T k (scale, 5G), D (3D), K attached (thousand).
LONE_LETTERS = {
    "attached": frozenset("mgshlLVWANJΩ\u2126Å\u212b"),
    "spaced": frozenset("mgshtlLKVWNJΩ\u2126Å\u212b"),
    "wrapped": frozenset(),  # on the next line: the first column of a table more often than a unit
    "hyphen": frozenset("mgshLVWΩ\u2126"),
    "inner": frozenset("mgshdtlLKVWNJAyΩ\u2126Å\u212b"),  # behind `/` and `per`, and in products
}
POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
SAME = {"1/ms": "m/s", "1/ms^2": "m/s^2", "mi/h": "mph", "lb/in^2": "psi", "lbf/in^2": "psi", "nmi/h": "kn"}
"""Compounds that have a shorter normal spelling."""

PINT = {"KB": "kB", "kn": "knot", "bbl": "oil_bbl", "BTU": "Btu", "long ton": "long_ton", "fl oz": "fluid_ounce"}
PINT |= {"°": "degree", "°C": "degC", "°F": "degF", "Torr": "torr", "bpm": "(1/min)"}
"""Normal spelling -> pint's, where they differ."""
NOT_CONVERTIBLE = frozenset(["IU"])
"""Units that have no fixed size."""


def _units() -> dict[str, str]:
    found: dict[str, str] = {}
    short_capitals = _SHORT_CAPITALS.split()
    words: dict[str, str] = {name: normal for normal, names in _WORDS.items() for name in names.split()}
    for base, prefixes in _PREFIXES.items():
        names = _SI_NAMES.get(base, "").split()
        for prefix in [*prefixes, ""]:
            normal = "KB" if prefix + base == "kB" else prefix + base
            words |= {_PREFIX_NAMES.get(prefix, "") + name: normal for name in names}
            if prefix or base not in _NO_BARE_SYMBOL:
                found[prefix + base] = normal
            if prefix == "µ":  # the Greek letter, and the typewriter's
                found["μ" + base] = found["u" + base] = normal
    found |= {symbol: normal for normal, symbols in _SYMBOLS.items() for symbol in symbols.split()}
    found |= {symbol.replace("Ω", "\u2126"): normal for symbol, normal in found.items() if "Ω" in symbol}
    for word, normal in words.items():
        found[word] = normal
        if (word.endswith("s") and word not in _NO_CAPITAL and len(word) > 3) or word in _CAPITAL:
            found[word.capitalize()] = normal
        if len(word) > 4 or word.upper() in short_capitals:
            found[word.upper()] = normal
    return found | CODES | {"Rs": "INR"}


def _phrases() -> dict[str, tuple[tuple[str, str], ...]]:
    flat = {phrase: normal for normal, phrases in _PHRASES.items() for phrase in phrases.split(",")}
    for nouns, countries in _COUNTRIES.items():
        for country, normal in (entry.rsplit(" ", 1) for entry in countries.split(",")):
            flat |= {f"{country} {noun}": normal for noun in nouns.split()}
    heads: dict[str, list[tuple[str, str]]] = {}
    for phrase in sorted(flat, key=len, reverse=True):
        head = phrase.replace(".", " ").replace("$", " ").replace("/", " ").split()[0]
        heads.setdefault(head, []).append((phrase, flat[phrase]))
    return {head: tuple(rows) for head, rows in heads.items()}


UNITS = _units()
"""One-word spelling -> normal spelling."""
PHRASES = _phrases()
"""First word, in lower case -> the spellings of several words that begin with it, longest first."""
PLAIN = {
    word: normal
    for word, normal in UNITS.items()
    if len(word) > 1 and word.lower() not in PHRASES and normal not in ("in", "°")
}
"""The part of `UNITS` that needs no look at the letters round it, unless it is in `VETO`."""

VETO = {
    "per": re.compile(r"per.cent").match,
    # A preposition and a pronoun, unless attached to the number, part of a compound, or `in.` with its full stop.
    "in": re.compile(r"(?<!\d)in(?!\.(?![A-Za-z])|[\^²³23/·⋅])").match,
    "us": re.compile(r"(?<!\d)us(?![\^²³/·⋅$]|[ -](?:do|dl|ce))").match,
    # Counted, not measured: `degrees of freedom`, `5-gram` (but `200-gram`).
    **dict.fromkeys(("degree", "degrees"), re.compile(r"degrees? of ").match),
    **dict.fromkeys(("gram", "grams"), re.compile(r"(?<!\d\d-)(?<![.,]\d-)(?<=\d-)gram").match),
    # The ordinal: `the 1991 second quarter`, `55 second-level topics`.
    "second": re.compile(r"(?<![\d-])second(?:-| half| quarter| round)").match,
    # `307,000 head versus 294,000 week ago`.
    **dict.fromkeys(("day", "week", "month", "year"), re.compile(r"(?<!\b1 )(?<=[ \n])[a-z]+ ago").match),
}
"""Spelling -> whether it is something else here, as a match at its first letter."""


@cache
def pint_registry() -> Any:
    """The one registry: quantities of different numerals can be added and compared."""
    try:
        from pint import UnitRegistry
    except ImportError:
        raise ImportError('converting units needs pint: pip install "numerate[units]"') from None
    registry = UnitRegistry()
    registry.define("parts_per_billion = 1e-9 = ppb")
    return registry


@lru_cache(maxsize=1024)
def pint_unit(unit: str) -> Any:
    """The `pint.Unit` of one of our normal spellings, or of one of pint's.

    Raises:
        ValueError: pint does not know it.
    """
    registry = pint_registry()
    spelled = "".join(PINT.get(part.strip(), part) for part in re.split(r"([/*^])", unit))
    try:
        return registry.parse_units(spelled)
    except Exception:  # besides its own errors, pint's parser lets AssertionError, TokenError and TypeError through
        raise ValueError(f"pint knows no unit {unit!r}") from None
