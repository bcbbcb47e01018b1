"""Units and currencies next to a number. In the tables `|` marks the end (or start) of the number."""

import subprocess
import sys

import pytest

from numerate.errors import NumerateError
from numerate.numerals.numeral import Numeral
from numerate.numerals.unit_context import VETO
from numerate.numerals.unit_tables import CODES, CURRENCY_SIGNS, PHRASES, UNITS
from numerate.numerals.units import CURRENCIES, UnitError, currency_before, to_quantity, unit_after

# Section -> rows of (text, normal spelling, unit as written).
AFTER = {
    "SI units": [
        ("10| km away", "km", "km"),
        ("10|km", "km", "km"),
        ("10|\u00a0km", "km", "km"),
        ("10|\u2009km", "km", "km"),
        ("100| m of rope", "m", "m"),
        ("40|\nmm in Misiones", "mm", "mm"),  # newswire breaks its lines anywhere
        ("3| metres", "m", "metres"),
        ("3| Meters", "m", "Meters"),
        ("5|µm", "µm", "µm"),
        ("5| μm", "µm", "μm"),
        ("5| um", "µm", "um"),
        ("5| microns", "µm", "microns"),
        ("632.8| nm", "nm", "nm"),
        ("70| kg.", "kg", "kg"),
        ("70| kgs", "kg", "kgs"),
        ("5| g of salt", "g", "g"),
        ("20| µg", "µg", "µg"),
        ("5| tonnes", "t", "tonnes"),
        ("5| metric tons", "t", "metric tons"),
        ("5| t", "t", "t"),
        ("12.3| ton", "ton", "ton"),
        ("2| l of", "L", "l"),
        ("2|L", "L", "L"),
        ("2| litres", "L", "litres"),
        ("20| ml", "mL", "ml"),
        ("20| milliliters", "mL", "milliliters"),
        ("13.5| s", "s", "s"),
        ("30|s", "s", "s"),
        ("30| secs", "s", "secs"),
        ("in 10-30|s", "s", "s"),
        ("the 10|-second barrier", "s", "second"),
        ("a 200|-gram bag", "g", "gram"),
        ("1| year ago", "year", "year"),
        ("250| ms", "ms", "ms"),
        ("5|us", "µs", "us"),
        ("90| mins", "min", "mins"),
        ("90| minutes", "min", "minutes"),
        ("24| h", "h", "h"),
        ("24| hrs", "h", "hrs"),
        ("3| days", "d", "days"),
        ("3| DAYS", "d", "DAYS"),
        ("3| weeks", "week", "weeks"),
        ("18| months", "month", "months"),
        ("5| yrs", "year", "yrs"),
        ("5| years.", "year", "years"),
        ("2.4| GHz", "GHz", "GHz"),
        ("50| hertz", "Hz", "hertz"),
        ("100| W", "W", "W"),
        ("3| megawatts", "MW", "megawatts"),
        ("5| kWh", "kWh", "kWh"),
        ("5| kilowatt-hours", "kWh", "kilowatt-hours"),
        ("230| V", "V", "V"),
        ("5|A", "A", "A"),
        ("10| kΩ", "kΩ", "kΩ"),
        ("10| \u2126", "Ω", "\u2126"),
        ("13| TeV", "TeV", "TeV"),
        ("5| MPa", "MPa", "MPa"),
        ("990| mbar", "mbar", "mbar"),
        ("2| bar", "bar", "bar"),
        ("300| K", "K", "K"),
        ("20| °C", "°C", "°C"),
        ("20|° C", "°C", "° C"),
        ("20|ºC", "°C", "ºC"),
        ("20|℃", "°C", "℃"),
        ("70|°F", "°F", "°F"),
        ("20| degrees Celsius", "°C", "degrees Celsius"),
        ("20| deg C", "°C", "deg C"),
        ("45| degrees", "°", "degrees"),
        ("45|° north", "°", "°"),
        ("40|°N", "°", "°"),
        ("2| mol", "mol", "mol"),
        ("5| mM", "mM", "mM"),
        ("1.5| tesla", "T", "tesla"),
        ("3| mT", "mT", "mT"),
        ("60| dB", "dB", "dB"),
        ("64|-bit", "bit", "bit"),
        ("5| bytes", "B", "bytes"),
        ("16|GB", "GB", "GB"),
        ("16| kB", "KB", "kB"),
        ("100| Mbps", "Mbit/s", "Mbps"),
        ("5| Å", "Å", "Å"),
        ("5| pixels", "px", "pixels"),
        ("8| fl ozs", "fl oz", "fl ozs"),
        ("2| imperial gallons", "imp gal", "imperial gallons"),
        ("154| pm", "pm", "pm"),
        ("4| light-years", "ly", "light-years"),
    ],
    "imperial units": [
        ("5| miles", "mi", "miles"),
        ("6| ft", "ft", "ft"),
        ("6| feet tall", "ft", "feet"),
        ("5|in", "in", "in"),
        ("5| in.", "in", "in"),
        ("5| in. of rain", "in", "in"),
        ("5| inches", "in", "inches"),
        ("40| acres", "acre", "acres"),
        ("40| hectares", "ha", "hectares"),
        ("150| lbs", "lb", "lbs"),
        ("150| pounds", "lb", "pounds"),
        ("8| oz", "oz", "oz"),
        ("5| troy ounces", "ozt", "troy ounces"),
        ("8| fl. oz", "fl oz", "fl. oz"),
        ("3| gallons", "gal", "gallons"),
        ("2| pints", "pt", "pints"),
        ("60| mph", "mph", "mph"),
        ("12| knots", "kn", "knots"),
        ("12| nautical miles", "nmi", "nautical miles"),
        ("32| psi", "psi", "psi"),
        ("18| barrels", "bbl", "barrels"),
        ("18| barrels a day", "bbl/d", "barrels a day"),
        ("2| bushels", "bu", "bushels"),
        ("10| ft lb", "ft*lbf", "ft lb"),
    ],
    "powers": [
        ("5| m^2", "m^2", "m^2"),
        ("5| m²", "m^2", "m²"),
        ("5| m2 of", "m^2", "m2"),
        ("5|km2", "km^2", "km2"),
        ("5| m³", "m^3", "m³"),
        ("5| cm^{3}", "cm^3", "cm^{3}"),
        ("5| in^2", "in^2", "in^2"),
        ("5| square miles", "mi^2", "square miles"),
        ("5|-square-foot", "ft^2", "square-foot"),
        ("5| sq mi", "mi^2", "sq mi"),
        ("5| sq. ft.", "ft^2", "sq. ft"),
        ("5| cubic metres", "m^3", "cubic metres"),
        ("5| Square Kilometers", "km^2", "Square Kilometers"),
        ("5| metres squared", "m^2", "metres squared"),
        ("5| cm⁻¹", "1/cm", "cm⁻¹"),
    ],
    "compound units": [
        ("100| km/h", "km/h", "km/h"),
        ("100| km / h", "km/h", "km / h"),
        ("100| kph", "km/h", "kph"),
        ("5| mg/dL", "mg/dL", "mg/dL"),
        ("5| mg/dl", "mg/dL", "mg/dl"),
        ("5| mmol/L", "mmol/L", "mmol/L"),
        ("120| mmHg", "mmHg", "mmHg"),
        ("120| mm Hg", "mmHg", "mm Hg"),
        ("72| bpm", "bpm", "bpm"),
        ("72| beats per minute", "bpm", "beats per minute"),
        ("400| IU", "IU", "IU"),
        ("5| mg/kg/day", "mg/kg/d", "mg/kg/day"),
        ("90| mL/min/1.73 m2", "mL/min", "mL/min"),
        ("25| kg/m2", "kg/m^2", "kg/m2"),
        ("1000| kg/m^3", "kg/m^3", "kg/m^3"),
        ("3| m/s", "m/s", "m/s"),
        ("9.8| m/s²", "m/s^2", "m/s²"),
        ("9.8| m/s2", "m/s^2", "m/s2"),
        ("12| km s−1", "km/s", "km s−1"),
        ("9.5| ms−2", "m/s^2", "ms−2"),
        ("12| km s-1 Mpc-1", "km/s/Mpc", "km s-1 Mpc-1"),
        ("3| W m⁻² ", "W/m^2", "W m⁻²"),
        ("5| N·m", "N*m", "N·m"),
        ("60| miles per hour", "mph", "miles per hour"),
        ("60| miles an hour", "mph", "miles an hour"),
        ("5| kilometres per hour", "km/h", "kilometres per hour"),
        ("30| pounds per square inch", "psi", "pounds per square inch"),
        ("5| metres per second squared", "m/s^2", "metres per second squared"),
        ("5| tonnes per capita", "t", "tonnes"),
        ("34.5|/sq mi", "1/mi^2", "/sq mi"),
        ("34.5|/km²", "1/km^2", "/km²"),
        ("34.5| per square mile", "1/mi^2", "per square mile"),
        ("60|/min", "1/min", "/min"),
    ],
    "feet, inches and arcs": [
        ("5|'11\"", "ft", "'"),
        ("5'11|\" tall", "in", '"'),
        ("he is 6|' tall", "ft", "'"),
        ("5|′ 11″", "ft", "′"),
        ("40|°26'46\"", "°", "°"),
        ("40°26|'46\"", "arcmin", "'"),
        ("40°26'46|\"", "arcsec", '"'),
    ],
    "hyphens": [
        ("a 5|-year plan", "year", "year"),
        ("a 5|-month-old", "month", "month"),
        ("a 10|-km run", "km", "km"),
        ("a 12|-V battery", "V", "V"),
        ("a 50|-dollar note", "USD", "dollar"),
    ],
    "money": [
        ("5| dollars", "USD", "dollars"),
        ("5| dlrs per barrel", "USD", "dlrs"),
        ("5| DLRS", "USD", "DLRS"),
        ("5| Canadian dlrs", "CAD", "Canadian dlrs"),
        ("5| Australian dollars", "AUD", "Australian dollars"),
        ("5| U.S. dollars", "USD", "U.S. dollars"),
        ("5| US dollars", "USD", "US dollars"),
        ("5| us dollars", "USD", "us dollars"),
        ("50 mln| N.Z. Dlrs", "NZD", "N.Z. Dlrs"),
        ("5| Hong Kong dollars", "HKD", "Hong Kong dollars"),
        ("73| cts", "cent", "cts"),
        ("73| cents", "cent", "cents"),
        ("5| pence", "penny", "pence"),
        ("5| stg", "GBP", "stg"),
        ("5| pounds sterling", "GBP", "pounds sterling"),
        ("5| euros", "EUR", "euros"),
        ("5| yen", "JPY", "yen"),
        ("5| marks", "DEM", "marks"),
        ("5| Swiss francs", "CHF", "Swiss francs"),
        ("5| French francs", "FRF", "French francs"),
        ("5| francs", "FRF", "francs"),
        ("5| Swedish crowns", "SEK", "Swedish crowns"),
        ("5| rupees", "INR", "rupees"),
        ("5| yuan", "CNY", "yuan"),
        ("5| pesos", "MXN", "pesos"),
        ("5| rubles", "RUB", "rubles"),
        ("5| guilders", "NLG", "guilders"),
        ("5| lire", "ITL", "lire"),
        ("5| EUR", "EUR", "EUR"),
        ("5| RMB", "CNY", "RMB"),
        ("5| €", "EUR", "€"),
        ("5|€", "EUR", "€"),
        ("5|$", "USD", "$"),
        ("5$ and 10|$", "USD", "$"),
        ("5| £", "GBP", "£"),
    ],
}

# Separated by semicolons and ends of lines.
NOTHING_AFTER = """
5| in the box;5| in;5| in 10;3|-in-1;5| in-depth;5| in, and;5| a day;5| are;10| as;2| at;5| am;5|pm;9| PM;5| million
5|M;5|B;5|k;10|K;5| k;3|D;5|G;4|G LTE;20|C;70|F;5| A;5| B;5| C;5| d;5| M;5| T;5|T;5| people;25|, and;25|. The;25|
5|%;5| %;5| percent;5| pct;5| per cent;30|bps;5| basis points;5| won;the 500| mark;1|st;2|nd;4|th;5| of
5|x;5| x 4;5|mm2x;5| m4b;5|km1;5| s2;5| kmx;5| metresque;5| mé;5| m_e;5| g(x);5| s's;10|h30
1990|s;the 1990|s;in his 20|s;5|'s;'the 5|' he;"of 5|";it's 5|";5|-6;5|-;5| - km;5|  km;5|\tkm
W2|V;F-14|A;DC-10|s;11-5/8|s;under-19|s;1970s and 80|s;175| t=1;2|, g+ = 1;2003| J. J. Liston;the 5|-gram
294,000| week ago;1991| second quarter;55| second-level topics;’node 98|’,
5| square meals;5| cubic;5| sq;12|/31/2019;120|/80;5|/people;5| per hour;5| per share;5| us;tell 5| us.
5| degrees of freedom;1|º;5| $10;5| $ 10;5|-$10;$n = 5|$;5|€3;1989| Miles Davis;3| US;5| points;5| shares
5| Mark;12| pt;5| No;2| IN;5| to;5| is;5| or;5| on;5| man;5| may;5| March;5| times;5| bars
"""

BEFORE = [
    ("$|5", "USD", "$"),
    ("for $|5", "USD", "$"),
    ("$ |5", "USD", "$"),
    ("$\u00a0|5", "USD", "$"),
    ("US$|5", "USD", "US$"),
    ("a US$|5", "USD", "US$"),
    ("US$ |5", "USD", "US$"),
    ("US $|5", "USD", "US $"),
    ("BUS $|5", "USD", "$"),
    ("BUS$|5", "USD", "$"),
    ("C$|5", "CAD", "C$"),
    ("(A$|5", "AUD", "A$"),
    ("HK$|5", "HKD", "HK$"),
    ("NZ$|5", "NZD", "NZ$"),
    ("R$|5", "BRL", "R$"),
    ("a $|5", "USD", "$"),
    ("€|5", "EUR", "€"),
    ("£ |5", "GBP", "£"),
    ("¥|5", "JPY", "¥"),
    ("₺|5", "TRY", "₺"),
    ("EUR |5", "EUR", "EUR"),
    ("in USD |5", "USD", "USD"),
    ("USD|5", "USD", "USD"),
    ("Rs |5", "INR", "Rs"),
    ("Rs. |5", "INR", "Rs."),
    ("Rs.|5", "INR", "Rs."),
    ("kr |5", "SEK", "kr"),
    ("kr. |500", "SEK", "kr."),
    ("RM|50", "MYR", "RM"),
    ("(RM |5", "MYR", "RM"),
    ("Rp|5000", "IDR", "Rp"),
    ("DM |5", "DEM", "DM"),
    ("₿|5", "BTC", "₿"),
    ("Can$|5", "CAD", "Can$"),
]
NOTHING_BEFORE = (
    "|5;x |5;USD  |5;XUSD |5;usd |5;$  |5;TOP |10;ALL |5;cars |5;PCRs. |5;no. |5;A |5;s|5;.|5; |5;"
    "SUSD|5;5 ¢|5;5元|5;DM|1;RM|2;xkr |5;ARM |5;\n|5"
)


def split(marked):
    position = marked.index("|")
    return marked[:position] + marked[position + 1 :], position


@pytest.mark.parametrize("section", AFTER)
def test_unit_after(section):
    for marked, unit, written in AFTER[section]:
        text, position = split(marked)
        found = unit_after(text, position)
        assert (found and (found[0], text[found[1] : found[2]])) == (unit, written), marked
        attached = unit_after(text, position, attached_only=True)
        assert attached == (found if found and found[1] == position else None), marked


def test_no_unit_after():
    texts = [*NOTHING_AFTER.strip().replace("\n", ";").split(";"), "54.8|\nh-softmax"]
    assert {marked: found for marked in texts if (found := unit_after(*split(marked)))} == {}


def test_currency_before():
    for marked, unit, written in BEFORE:
        text, position = split(marked)
        found = currency_before(text, position)
        assert (found and (found[0], text[found[1] : found[2]])) == (unit, written), marked


def test_no_currency_before():
    assert {marked: found for marked in NOTHING_BEFORE.split(";") if (found := currency_before(*split(marked)))} == {}


def test_every_spelling_is_found_after_a_number():
    words = [word for word in UNITS if len(word) > 1 and word not in VETO]
    assert [unit_after(f"5{word}", 1) for word in words] == [(UNITS[word], 1, 1 + len(word)) for word in words]
    for phrase, normal in (row for rows in PHRASES.values() for row in rows):
        assert unit_after(f"5 {phrase}, or", 1) == (normal, 2, 2 + len(phrase))


def test_currencies():
    assert {*CODES.values(), *CURRENCY_SIGNS.values(), "cent", "penny"} <= CURRENCIES
    codes = {unit for unit in UNITS.values() if len(unit) == 3 and unit.isupper()}
    codes -= {"BTU", "CFU", "PFU", "MVA", "GVA"}
    assert codes <= CURRENCIES
    assert len(CODES) >= 30


@pytest.mark.parametrize(
    ("value", "unit", "target", "expected"),
    [
        (20, "°C", "SI", 293.15),
        (20, "°C", "°F", 68),
        (212, "°F", "degC", 100),
        (36, "km/h", "si", 10),
        (36, "km/h", "mph", 22.369362920544),
        (100, "mg/dL", "SI", 1),
        (2, "lb", "SI", 0.90718474),
        (1, "acre", "m^2", 4046.8726098743),
        (1, "psi", "kPa", 6.894757293168),
        (2, "GB", "MB", 2000),
        (3, "KB", "bit", 24000),
        (1, "bbl", "gal", 42),
        (1, "t", "lb", 2204.6226218488),
        (10, "kn", "m/s", 5.1444444444444),
        (1, "1/mi^2", "1/km^2", 0.38610215854),
        (120, "mmHg", "kPa", 15.99868),
        (4.18, "J/°C", "SI", 4.18),
        (5, "ppb", "ppm", 0.005),
        (60, "bpm", "Hz", 1),
        (5, "L/(100*km)", "L/km", 0.05),
        (4.18, "J/(g*°C)", "J/(kg*K)", 4180),
        (1, "W/(m^2*K)", "W/m^2/K", 1),
        (4, "nV/Hz^0.5", "V/Hz^0.5", 4e-9),
        (30, "dBm", "W", 1),
        (5, "wt%", "ppm", 50000),
        (3, "ppt", "ppb", 0.003),
        (2, "mOsm/kg", "mol/kg", 0.002),
        (2, "Mpx", "px", 2e6),
    ],
)
def test_to_quantity(value, unit, target, expected):
    assert to_quantity(value, unit, target, "x").magnitude == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("unit", "target", "message"),
    [
        (None, "SI", "'5' has no unit"),
        ("USD", "SI", "'5' is money"),
        ("cent", "EUR", "'5' is money"),
        ("IU", "SI", "pint knows no unit 'IU'"),
        ("km", "s", "'5' is in km, which cannot be converted to 's'"),
        ("°C", "m", "'5' is in °C, which cannot be converted to 'm'"),
        ("km", "", "cannot be converted to ''"),
        ("km", "flurbs", "pint knows no unit 'flurbs'"),
        ("km", "m^", "pint knows no unit"),
        ("km", "(", "pint knows no unit"),
        ("km", "$", "pint knows no unit"),
    ],
)
def test_conversion_errors(unit, target, message):
    with pytest.raises(UnitError) as error:
        to_quantity(5.0, unit, target, "5")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_numerals_convert_their_units():
    numeral = Numeral("90", 0, 2, 90.0, unit="km/h")
    assert numeral.to("m/s").magnitude == pytest.approx(25)
    assert numeral.to() + numeral.to("mph") == numeral.to() * 2


def test_missing_pint_is_reported():
    code = (
        "import sys, numerate.numerals.units as u; assert 'pint' not in sys.modules; sys.modules['pint'] = None\n"
        "try: u.to_quantity(1, 'km', 'SI', '1')\n"
        "except ImportError as error: print(type(error).__mro__[1].__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(NumerateError.__name__)
    assert done.stdout.strip().endswith('pip install "numerate[units]"')


def test_distant_text_does_not_change_the_result():
    """The functions look at a bounded part of the text, so that their time does not depend on its length."""
    for piece in ("a", "m", "/m", " m", "'", "$", "·m", " per m", "°", "km s-1 ", "square ", "US "):
        text = "5" + piece * 500
        for position in range(200, 240):
            near, offset = text[position - 100 : position + 200], 100
            for find in (unit_after, currency_before):
                found, expected = find(text, position), find(near, offset)
                shifted = expected and (expected[0], expected[1] + position - offset, expected[2] + position - offset)
                assert found == shifted, (piece, position, find)
