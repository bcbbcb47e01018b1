"""Wiki-Convert's layout from wikitext written for these tests."""

from __future__ import annotations

import bz2
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from numerate.training.sources import SourceError
from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
from numerate_lab.tasks.wikipedia.wiki_convert import pages_of_dump, plain_text, rows_of_page, sentences_of_page
from numerate_lab.tasks.wikipedia.wiki_template import Wording

if TYPE_CHECKING:
    from pathlib import Path

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
  <siteinfo><sitename>Test</sitename></siteinfo>
  <page><title>Lake</title><ns>0</ns><id>11</id>
    <revision><id>999</id><text xml:space="preserve">The lake is {{convert|12|km|mi}} long.</text></revision></page>
  <page><title>Talk:Lake</title><ns>1</ns><id>12</id><revision><text>{{convert|1|km}}</text></revision></page>
  <page><title>Pond</title><ns>0</ns><id>13</id><redirect title="Lake" /><revision><text>x</text></revision></page>
  <page><title>Void</title><ns>0</ns><id>15</id><revision><text /></revision></page>
  <page><title>Hill</title><ns>0</ns><id>14</id>
    <revision><text>A hill of &lt;b&gt;earth&lt;/b&gt;.</text></revision></page>
</mediawiki>"""


def comments(wikitext: str, **options: Any) -> list[str]:
    rows = rows_of_page("1", wikitext, **options)
    for row in rows:  # what is written can be read, and says what it says
        sentence = sentence_of_row(row)
        assert sentence.numeral is not None
        assert sentence.text[sentence.numeral.end :].lstrip(" -").startswith(row["unit"])
        assert sentence.numeral.value == float(row["number"])
    return [row["comment"] for row in rows]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{convert|5|km|mi}}", "5 kilometres"),
        ("{{Convert|1|km|mi|abbr=on}}", "1 km"),
        ("{{convert|1|mi}}", "1 mile"),
        ("{{cvt|1200|m2}}", "1,200 m²"),
        ("{{convert|1200.50|ft|m|comma=off}}", "1200.50 feet"),
        ("{{convert|-40|C|F}}", "-40°C"),
        ("{{ convert | 12,500 | lb | kg | sigfig = 3 }}", "12,500 pounds"),
        ("{{convert|300|hp|kW|0|lk=in}}", "300 horsepower"),
        ("{{convert|6|furlong}}", "6 furlong"),
        ("{{convert|20|ft|adj=on}}", "20-foot"),
        ("{{convert|20|ft|abbr=on|adj=on}}", "20 ft"),
        ("{{convert|5|sqmi|adj=on}}", "5-square-mile"),
        ("{{convert|5|PS|adj=on}}", "5 PS"),
        ("{{convert|40|ft|m|adj=mid|tall}}", "40-foot tall"),
        ("{{convert|40|ft|m|0|adj=mid|-tall}}", "40-foot-tall"),
        ("{{convert|40|ft|adj=mid|&nbsp;tall}}", "40-foot tall"),
        ("{{convert|40|ft|adj=mid|m}}", "40-foot"),
        ("{{convert|40|ft|cubit|adj=mid}}", "40-foot"),
        ("{{convert|2|e6USgal}}", "2 million US gallons"),
        ("{{convert|1|e9m3|cuft}}", "1 billion cubic metres"),
        ("{{convert|2.5|e3acre|adj=on}}", "2.5-thousand-acre"),
        ("{{convert|&minus;40|C}}", "-40°C"),
        ("{{convertir|7|kg|}}", "7 kilograms"),
    ],
)
def test_what_a_template_says(template: str, said: str) -> None:
    assert comments(f"It is about {template} in all.") == [f"It is about {said} in all."]


@pytest.mark.parametrize(
    "template",
    [
        "{{convert|5|to|10|km}}",
        "{{convert|6|ft|2|in}}",
        "{{convert|{{frac|1|2}}|km}}",
        "{{convert|5}}",
        "{{convert|1,5|km}}",
        "{{cvt|2|e6USgal}}",
        "{{convert|5|km|adj=mid|{{convert|6|km}}}}",
        f"{{{{convert|{'9' * 5000}|km}}}}",  # more digits than Python makes an integer of
    ],
)
def test_what_is_not_one_plain_number_is_left_out(template: str) -> None:
    assert comments(f"It is about {template} in all.") == []


@pytest.mark.parametrize(
    ("template", "said", "number"),
    [
        ("{{convertir|1.200|kg|lb}}", "1.200 kg", "1200"),
        ("{{convertir|1,5|km}}", "1,5 km", "1.5"),
        ("{{convertir|1.234.567,25|m2}}", "1.234.567,25 m²", "1234567.25"),
        ("{{convertir|1 200|km}}", "1 200 km", "1200"),
        ("{{convertir|1,200|km}}", "1,200 km", "1.200"),
        ("{{convertir|1200|sqmi}}", "1200 sqmi", "1200"),  # no comma, which would make it 1.2
        ("{{convertir|−40,5|C}}", "−40,5°C", "-40.5"),
        ("{{convertir|1.5|km}}", "1.5 km", "1.5"),  # it groups no thousands, so that it can mean nothing else
        ("{{convertir|0.125|km}}", "0.125 km", "0.125"),
        ("{{convertir|20|ft|adj=on}}", "20 ft", "20"),
        ("{{convertir|40|ft|m|adj=mid|de alto}}", "40 ft de alto", "40"),
    ],
)
def test_numbers_with_a_decimal_comma_and_units_by_their_codes(template: str, said: str, number: str) -> None:
    text = f"La torre pesa o mide {template} en total."
    assert comments(text, wording=Wording.of("es")) == [f"La torre pesa o mide {said} en total."]
    row = rows_of_page("1", text, wording=Wording.of("es"))[0]
    assert row["number"] == number and said.startswith(row["comment"][row["offset"] :][: row["length"]])
    assert said[row["length"] :].lstrip().startswith(row["unit"])


@pytest.mark.parametrize(
    ("language", "units", "decimal"),
    [
        ("", "name", "point"),
        ("en", "name", "point"),
        ("en-GB", "name", "point"),
        ("es", "code", "comma"),
        ("pt-BR", "code", "comma"),
        ("ja", "code", "point"),
        ("zh", "code", "point"),
    ],
)
def test_a_language_has_its_wording(language: str, units: str, decimal: str) -> None:
    assert Wording.of(language) == Wording(units=units, decimal=decimal)
    assert Wording.of(language, "name", "comma") == Wording(units="name", decimal="comma")


def test_sentences_without_spaces_between_them() -> None:
    text = "2001年に完成した。この川の長さは{{convert|1200|km|mi}}である。「長い。」と言う！幅は{{convert|5|m}}か？"
    said = ["この川の長さは1,200 kmである。", "幅は5 mか？"]
    assert comments(text, wording=Wording.of("ja")) == said
    quoted = "彼は「長さは{{convert|5|km}}だ。」と言った。"
    assert comments(quoted, wording=Wording.of("ja")) == ["彼は「長さは5 kmだ。」と言った。"]
    assert comments("यह {{convert|5|km}} लंबा है। इसका नाम १ है।", wording=Wording.of("hi")) == ["यह 5 km लंबा है।"]


def test_why_sentences_are_left_out() -> None:
    text = (
        "It is {{convert|5|to|6|km}} long. It is {{convert|1,5|km}} long. It has {{cvt|2|e6USgal}} in it. In 1999 it "
        "was {{convert|6|km}} long. A {{convert|7|m}} by {{convert|8|m}} hut. It is {{convert|9|km}} long."
    )
    reasons = [why.split(";")[0] for _, why in sentences_of_page("1", *plain_text(text))]
    assert reasons == [
        "not one plain number, such as a range or a fraction",
        "a number of another notation",
        "a power such as e6USgal that is not spelled out",
        "other numbers",
        "several conversions",
        "",
    ]


def test_only_sentences_with_one_number_unless_all_are_wanted() -> None:
    text = (
        "It is {{convert|5|km}} long. In 1999 it was {{convert|6|km}} long. A {{convert|7|m}} by {{convert|8|m}} hut."
    )
    assert comments(text) == ["It is 5 kilometres long."]
    assert len(comments(text, single=False)) == 4
    rows = rows_of_page("9", text, single=False)
    assert [row["id"] for row in rows] == ["9-0", "9-1", "9-2", "9-3"]
    assert rows[2]["comment"] == rows[3]["comment"] == "A 7 metres by 8 metres hut."


def test_markup_goes_and_words_stay() -> None:
    text = """{{Infobox|length={{convert|1|km}}}}
[[File:x.jpg|thumb|A {{convert|2|km}} view of [[it]]]]
'''The''' ''[[River Foo|Foo]]'' &amp; [[Bar]]s<!-- {{convert|3|km}} --> run{{citation needed}} {{convert|4|km}} south\
<ref name="a">A {{convert|5|km}} note.</ref><ref name="a" /> of [https://x.org/y here].
{| class="wikitable"
| {{convert|6|km}} || a
|}
* A list of {{convert|7|km}}
== Head of {{convert|8|km}} ==
[[Category:Rivers]]"""
    assert comments(text) == ["The Foo & Bars run 4 kilometres south of here."]


def test_sentences_are_cut_at_their_ends_and_not_at_initials() -> None:
    text = "Mr. J. Foo of St. Bar ran {{convert|4|km}}! He (see p.) won. Then he swam {{convert|5|m}}."
    assert comments(text) == ["Mr. J. Foo of St. Bar ran 4 kilometres!", "Then he swam 5 metres."]


@pytest.mark.parametrize(
    "text", ["{{" * 20_000, "[[" * 20_000 + "]]", "<ref>" * 20_000, "<!--" * 20_000, "{{convert|" * 9_000]
)
def test_no_text_takes_more_than_linear_time_or_raises(text: str) -> None:
    assert rows_of_page("1", text) == []


def test_marks_of_our_own_in_a_page_mean_nothing() -> None:
    assert plain_text("a \ue0000\ue001 b")[0] == "a 0 b"


def test_names_of_the_template() -> None:
    assert rows_of_page("1", "Es sind {{Einheit|5|km}} nach Foo.") == []
    assert rows_of_page("1", "Es sind {{Einheit|5|km}} nach Foo.", names=("einheit",))[0]["number"] == "5"


@pytest.mark.parametrize("ending", ["xml", "xml.bz2", "xml.gz"])
def test_dumps_are_read_packed_or_not(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"dump.{ending}"
    data = DUMP.encode()
    path.write_bytes({"xml": data, "xml.bz2": bz2.compress(data), "xml.gz": gzip.compress(data)}[ending])
    assert [page[:2] for page in pages_of_dump(path)] == [("11", "Lake"), ("14", "Hill")]
    assert list(pages_of_dump(path))[1].text == "A hill of <b>earth</b>."
    assert list(pages_of_dump(path))[1].language == "en"


def test_pages_are_let_go(tmp_path: Path) -> None:
    import tracemalloc

    pages = "".join(
        f"<page><ns>0</ns><id>{i}</id><title>t</title><revision><text>{'x' * 20_000}</text></revision></page>"
        for i in range(400)
    )
    path = tmp_path / "dump.xml"
    path.write_text(f"<mediawiki>{pages}</mediawiki>")
    tracemalloc.start()
    count = sum(1 for _ in pages_of_dump(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 400 and peak < 2_000_000  # the file has 8 MB


@pytest.mark.parametrize(
    ("content", "says"), [(b"<mediawiki><page>", "not the XML of a dump: "), (b"hello", "not the XML of a dump: ")]
)
def test_what_is_no_dump(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_bytes(content)
    with pytest.raises(SourceError, match=says):
        list(pages_of_dump(tmp_path / "d.xml"))
    with pytest.raises(SourceError, match="no such file"):
        list(pages_of_dump(tmp_path / "nowhere.xml"))
    (tmp_path / "d.xml.bz2").write_bytes(content)
    with pytest.raises(SourceError, match="cannot be read: "):
        list(pages_of_dump(tmp_path / "d.xml.bz2"))


def test_rows_are_json() -> None:
    row = rows_of_page("1", "It is {{convert|5|km}} long.")[0]
    assert json.loads(json.dumps(row)) == row
