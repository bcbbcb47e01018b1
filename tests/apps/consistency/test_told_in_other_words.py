"""Lists with numbers, ages of things, doses, odds and attributes told again; and right texts that look like them."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str) -> list[tuple[str, str]]:
    return [(each.rule, each.written) for each in ConsistencyChecker().check(Document(kind="text", text=text))]


@pytest.mark.parametrize(
    ("text", "rule", "written", "right"),
    [
        # Lists whose items have a number.
        ("He made {} films: Low Tide (1988), The Ferry (1991), Salt (1996) and Harbour "
         "(2003).", "count", "six", "four"),
        ("The estate has {} lakes: Long Water (12 ha), Mill Pond (3 ha) and the Basin (1 "
         "ha).", "count", "four", "three"),
        ("Cores were taken at {} depths (5, 10, 20, 40 and 80 cm).", "count", "four", "five"),
        ("The rope is sold in {} diameters of 6, 8, 10 and 12 mm.", "count", "five", "four"),
        # A whole with a unit and its parts, without a word between them.
        ("We generated {}, 7.2 GWh from wind, 29.8 GWh from hydro and 4.6 GWh from "
         "solar.", "sum", "46.1 GWh", "41.6 GWh"),
        ("Revenue was {}, with $310 million from Europe, $120 million from Asia and $72 million from "
         "America.", "sum", "$520 million", "$502 million"),
        ("Exports reached {}, $5.2 billion to Europe and $2.7 billion to Asia.", "", "", "$9.1 billion"),
        # Ages of things.
        ("The mill, built in 1848, was restored in 1993, when it was {} old.", "difference", "155 years", "145 years"),
        ("The oak was planted in 1790. It fell in 1987, when the tree was {} old.", "", "", "197 years"),
        ("The bell was cast in 1680. In 1944, when the bell was {} old, it "
         "cracked.", "difference", "246 years", "264 years"),
        # A total behind its parts, what parts go to, a price of many.
        ("Costs were $4.5 million in Q1, $4.8 million in Q2, $5.1 million in Q3 and $5.6 million in Q4, or {} for the "
         "year.", "sum", "$19.0 million", "$20.0 million"),
        ("Of 312 patients screened, {} were randomised: 101 to drug A and 98 to placebo.", "sum", "204", "199"),
        ("The company repurchased 2 million shares at an average price of $34.50, for a total of "
         "{}.", "product", "$96 million", "$69 million"),
        # Times as much.
        ("The bridge is 450 m long, {} times as long as the 150 m footbridge.", "percent", "four", "three"),
        ("The debt of $120 million is {} times the equity of $60 million.", "percent", "3", "2"),
        ("China's {} plants are twice as many as the 300 of India.", "percent", "900", "600"),
        ("He was three times the champion of the {} and 200 m.", "", "", "100 m"),
        ("The double room costs {}, the single room €80.", "", "", "€120"),
        # What is left, and basis points.
        ("Revenue of €840 million less costs of €790 million gave a profit of "
         "{}.", "sum", "€60 million", "€50 million"),
        ("The rate was cut by {} from 4.50 % to 4.00 %.", "percent", "25 basis points", "50 basis points"),
        # The same amount by share.
        ("Net income fell to $3.4 million, or $0.41 per share, from $4.1 million, or $0.48 per share, a decrease of "
         "{}.", "percent", "27 percent", "17 percent"),
        ("Profit rose {} to $54 million, or 41 cents a share, from $45 million, or 36 cents a "
         "share.", "percent", "25 percent", "20 percent"),
        # Interest, currencies, and a number for several of a unit.
        ("The bond of $1,000 pays 5 % a year, or {}.", "percent", "$65", "$50"),
        ("A deposit of £12,000 at 2.5% earned {} in interest in the first year.", "percent", "£350", "£300"),
        ("We put £5,000 into the account at 4% interest; after 3 years we had {}.", "", "", "£5,624"),
        ("At 1.10 dollars to the euro, €500 is worth {}.", "conversion", "$505", "$550"),
        ("With £1 = $1.25, the £400 ticket costs {}.", "conversion", "$540", "$500"),
        ("Tickets at $1.20 to the pound cost £30 or {}.", "", "", "$36"),
        ("We drove 450 km on 36 litres, which is {}.", "product", "9 litres per 100 km", "8 litres per 100 km"),
        # What is said of the value before.
        ("We raised £12,600. More than {} of it, £7,200, came from the street collection.", "percent", "two-thirds",
         "a half"),
        ("The quote is €1,000 net plus 19% VAT {}, i.e. €1,190.", "percent", "(€109)", "(€190)"),
        ("It rained 247 mm in all. This is {} above the usual 189 mm of the three months.", "percent", "13%", "31%"),
        ("It was £13.65; I handed over a £20 note and got {} change.", "sum", "£7.35", "£6.35"),
        ("All 15 councillors voted and nobody abstained; it was carried by {} votes to 4.", "", "", "11"),
        ("Give 15 mg per kg of body weight: a child of 20 kg gets {} at each dose.", "product", "3,000 mg", "300 mg"),
        ("The manor was begun in {}, making it one of the few eighteenth-century houses here.", "", "", "1742"),
        # Anniversaries by name.
        ("The shop, founded in 1898, celebrated its centenary in {}.", "ordinal", "1989", "1998"),
        ("The club, formed in 1950, held its golden jubilee in {}.", "ordinal", "2010", "2000"),
        ("The orchestra, founded in 1904, recorded it for the composer's centenary in {}.", "", "", "1985"),
        ("Founded in 1904, the Centennial Museum was rebuilt in {}.", "", "", "1985"),
        # What each gets, and all together.
        ("Each of the 2,300 employees gets €600, which costs the operator "
         "{}.", "product", "€13.8 million", "€1.38 million"),
        ("Every one of the 120 members pays £35, making {}.", "product", "£42,000", "£4,200"),
        ("Cefalexin 250 mg three times daily for 7 days ({} capsules dispensed).", "product", "12", "21"),
        ("Take 2 tablets three times a day for 5 days ({} tablets supplied).", "product", "25", "30"),
        # Ratios and odds.
        ("Women outnumber men by 3 to 2: the register lists 930 women and {} men.", "ratio", "3", "620"),
        ("Odds were cut to 4 to 1, and backers got {} in profit on a $20 stake.", "ratio", "$200", "$80"),
        # Shares like those of the same paragraph.
        ("We asked 800 households. Some 360, or 45%, answered by post and 200 (25%) online. Only 24 households "
         "({}) refused.",
         "percent", "13%", "3%"),
        # One quantity told again.
        ("The lake has a greatest depth of 112 m. Two rivers feed it. With its maximum depth of {} it is the "
         "deepest here.",
         "repeated", "12 m", "112 m"),
        ("Revenue of $1.5 billion was a record. In short, with revenue of {} for the year, we met our target.",
         "repeated", "$1.5 million", "$1.5 billion"),
        ("Your table for 11 guests is booked. Starters will be served at 20:00. We look forward to all {} guests "
         "of your party.",
         "repeated", "17", "11"),
    ],
)  # fmt: skip
def test_wrong_and_right(text: str, rule: str, written: str, right: str) -> None:
    assert not found(text.format(right))
    if rule == "ratio" and "outnumber" in text:
        assert found(text.format("260")) == [("ratio", written)]
    elif rule:
        assert found(text.format(written)) == [(rule, written)]


@pytest.mark.parametrize(
    "text",
    [
        # A mean of the list is told, and another one.
        "With rounds of 68, 71, 69 and 70 she averaged 69.5, and over the season her average stands at 70.8.",
        "The temperatures were 12, 15 and 18 °C; the mean for June is 11 °C.",
        # A base of shares, parts that overlap, parts that are not all.
        "It has 70% water, 2% salt and 1% yeast, relative to 1,000 g of flour: so 700 g of water, 20 g of salt "
        "and 10 g of yeast.",
        "Of 200 guests, 120 had soup, 90 had salad and 60 had dessert.",
        "In 2022 the firm had 310 staff: 120 women, 95 part-time workers and 40 trainees among them.",
        "The fund has £2.4 million: £1.1 million in shares, £0.9 million in bonds, and cash.",
        # Lists that go on, or whose items are several.
        "Four rivers meet here: the Ill and the Aar, with their tributaries Lys (12 km) and Orb (9 km).",
        "Four countries bid: Chile and Peru jointly (2 bids), Spain (1) and Italy (3).",
        "Five houses stand here: three on Mill Lane (built 1901), one on High Street (1920) and one on the quay "
        "(1933).",
        "Three things matter: light and air, water, and good soil in spring.",
        # Things that only look like those told before.
        "We have booked 12 rooms for you. All 21 rooms of the hotel have a balcony.",
        "The tower is 186 m high. Its viewing platform, at a height of 168 m, is open daily.",
        "The tower has a height of 168 m. The mast was added later. With its height of 186 m it is now the tallest.",
        "The hall has a capacity of 1,200. The new annex was opened in May. With a capacity of 120 the annex is "
        "for lectures.",
        "The tank has a volume of 450 L. A second tank stands beside it. With a volume of 45 L it serves as a reserve.",
        "Group revenue was $2.4 billion. In short, with revenue of $2.4 million the new unit is still small.",
        "The trial enrolled 362 patients. Of the 326 patients who finished, 41 relapsed.",
        "The hotel booked 24 guests on Monday. It rained. All 42 guests stayed in on Tuesday.",
        # Other ages, prices, packs, odds and shares.
        "The bell, cast in 1702, was hung in 1921. In 1987, when the bell was 66 years in its tower and 285 "
        "years old, it broke.",
        "The school was founded in 1888. In 1950, when the present hall was 10 years old, it burned down.",
        "All 40 members pay £30, and the club spends £900 on the hall.",
        "Amoxicillin 500 mg three times daily for 7 days (42 capsules dispensed).",
        "Backed at 8 to 1 each way, the horse came third and earned £6 in profit on a £10 stake.",
        "Women outnumber men by 2 to 1 in the choir; of the 12 soloists 7 are women and 5 men.",
        "The school has 800 pupils. In year ten, 40 pupils (32%) take Latin; overall 80, or 10%, do and 160 "
        "(20%) take French.",
    ],
)  # fmt: skip
def test_right_texts_that_look_wrong(text: str) -> None:
    assert not found(text)
