"""Extraction of Wiki-Convert rows from wikitext."""

from __future__ import annotations

import bz2
import gzip
from typing import TYPE_CHECKING, Any

import pytest

from numerate.training.sources import SourceError
from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
from numerate_lab.tasks.wikipedia.wiki_convert import pages_of_dump, plain_text, sentences_of_page
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


def rows_of_page(page: str, wikitext: str, single: bool = True, **options: Any) -> list[dict[str, Any]]:
    text, conversions = plain_text(wikitext, **options)
    return [row for rows, _ in sentences_of_page(page, text, conversions, single) for row in rows]


def comments(wikitext: str, **options: Any) -> list[str]:
    rows = rows_of_page("1", wikitext, **options)
    for row in rows:  # rows can be read again, with the same number and unit
        sentence = sentence_of_row(row)
        assert sentence.numeral is not None
        assert sentence.text[sentence.numeral.end :].lstrip(" -").startswith(row["unit"])
        assert sentence.numeral.value == float(row["number"])
    return [row["comment"] for row in rows]


TEMPLATES = {
    "{{convert|5|km|mi}}": "5 kilometres",
    "{{Convert|1|km|mi|abbr=on}}": "1 km",
    "{{convert|1|mi}}": "1 mile",
    "{{cvt|1200|m2}}": "1,200 m²",
    "{{convert|1200.50|ft|m|comma=off}}": "1200.50 feet",
    "{{convert|-40|C|F}}": "-40°C",
    "{{ convert | 12,500 | lb | kg | sigfig = 3 }}": "12,500 pounds",
    "{{convert|300|hp|kW|0|lk=in}}": "300 horsepower",
    "{{convert|6|furlong}}": "6 furlong",
    "{{convert|20|ft|adj=on}}": "20-foot",
    "{{convert|20|ft|abbr=on|adj=on}}": "20 ft",
    "{{convert|5|sqmi|adj=on}}": "5-square-mile",
    "{{convert|5|PS|adj=on}}": "5 PS",
    "{{convert|40|ft|m|adj=mid|tall}}": "40-foot tall",
    "{{convert|40|ft|m|0|adj=mid|-tall}}": "40-foot-tall",
    "{{convert|40|ft|adj=mid|&nbsp;tall}}": "40-foot tall",
    "{{convert|40|ft|adj=mid|m}}": "40-foot",
    "{{convert|40|ft|cubit|adj=mid}}": "40-foot",
    "{{convert|2|e6USgal}}": "2 million US gallons",
    "{{convert|1|e9m3|cuft}}": "1 billion cubic metres",
    "{{convert|2.5|e3acre|adj=on}}": "2.5-thousand-acre",
    "{{convert|&minus;40|C}}": "-40°C",
    "{{convertir|7|kg|}}": "7 kilograms",
}


def test_text_of_a_template() -> None:
    for template, text in TEMPLATES.items():
        assert comments(f"It is about {template} in all.") == [f"It is about {text} in all."], template


def test_templates_without_exactly_one_number_are_left_out() -> None:
    for template in (
        "{{convert|5|to|10|km}}",
        "{{convert|6|ft|2|in}}",
        "{{convert|{{frac|1|2}}|km}}",
        "{{convert|5}}",
        "{{convert|1,5|km}}",
        "{{cvt|2|e6USgal}}",
        "{{convert|5|km|adj=mid|{{convert|6|km}}}}",
        f"{{{{convert|{'9' * 5000}|km}}}}",  # more digits than Python converts to an integer
    ):
        assert comments(f"It is about {template} in all.") == [], template


def test_decimal_commas_and_unit_codes() -> None:
    for template, text, number in (
        ("{{convertir|1.200|kg|lb}}", "1.200 kg", "1200"),
        ("{{convertir|1,5|km}}", "1,5 km", "1.5"),
        ("{{convertir|1.234.567,25|m2}}", "1.234.567,25 m²", "1234567.25"),
        ("{{convertir|1 200|km}}", "1 200 km", "1200"),
        ("{{convertir|1,200|km}}", "1,200 km", "1.200"),
        ("{{convertir|1200|sqmi}}", "1200 sqmi", "1200"),  # no comma is added, which would make it 1.2
        ("{{convertir|−40,5|C}}", "−40,5°C", "-40.5"),
        ("{{convertir|1.5|km}}", "1.5 km", "1.5"),  # groups no thousands, so it is a decimal point
        ("{{convertir|0.125|km}}", "0.125 km", "0.125"),
        ("{{convertir|20|ft|adj=on}}", "20 ft", "20"),
        ("{{convertir|40|ft|m|adj=mid|de alto}}", "40 ft de alto", "40"),
    ):
        wikitext = f"La torre pesa o mide {template} en total."
        assert comments(wikitext, wording=Wording.of("es")) == [f"La torre pesa o mide {text} en total."], template
        row = rows_of_page("1", wikitext, wording=Wording.of("es"))[0]
        assert row["number"] == number, template
        assert text.startswith(row["comment"][row["offset"] :][: row["length"]]), template
        assert text[row["length"] :].lstrip().startswith(row["unit"]), template


def test_notation_of_a_language() -> None:
    for language, units, decimal in (
        ("", "name", "point"),
        ("en", "name", "point"),
        ("en-GB", "name", "point"),
        ("es", "code", "comma"),
        ("pt-BR", "code", "comma"),
        ("ja", "code", "point"),
        ("zh", "code", "point"),
    ):
        assert Wording.of(language) == Wording(units=units, decimal=decimal), language
        assert Wording.of(language, "name", "comma") == Wording(units="name", decimal="comma"), language


def test_sentences_without_spaces_between_them() -> None:
    text = "2001年に完成した。この川の長さは{{convert|1200|km|mi}}である。「長い。」と言う！幅は{{convert|5|m}}か？"
    said = ["この川の長さは1,200 kmである。", "幅は5 mか？"]
    assert comments(text, wording=Wording.of("ja")) == said
    quoted = "彼は「長さは{{convert|5|km}}だ。」と言った。"
    assert comments(quoted, wording=Wording.of("ja")) == ["彼は「長さは5 kmだ。」と言った。"]
    assert comments("यह {{convert|5|km}} लंबा है। इसका नाम १ है।", wording=Wording.of("hi")) == ["यह 5 km लंबा है।"]


def test_reasons_for_leaving_sentences_out() -> None:
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


def test_sentences_with_several_numbers_are_optional() -> None:
    text = (
        "It is {{convert|5|km}} long. In 1999 it was {{convert|6|km}} long. A {{convert|7|m}} by {{convert|8|m}} hut."
    )
    assert comments(text) == ["It is 5 kilometres long."]
    assert len(comments(text, single=False)) == 4
    rows = rows_of_page("9", text, single=False)
    assert [row["id"] for row in rows] == ["9-0", "9-1", "9-2", "9-3"]
    assert rows[2]["comment"] == rows[3]["comment"] == "A 7 metres by 8 metres hut."


def test_markup_is_removed() -> None:
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


def test_sentences_are_not_split_at_abbreviations() -> None:
    text = "Mr. J. Foo of St. Bar ran {{convert|4|km}}! He (see p.) won. Then he swam {{convert|5|m}}."
    assert comments(text) == ["Mr. J. Foo of St. Bar ran 4 kilometres!", "Then he swam 5 metres."]


def test_malformed_pages_take_linear_time() -> None:
    for text in ("{{" * 20_000, "[[" * 20_000 + "]]", "<ref>" * 20_000, "<!--" * 20_000, "{{convert|" * 9_000):
        assert rows_of_page("1", text) == [], text[:10]
    # The page's own private-use characters are no marks of conversions.
    assert plain_text("a \ue0000\ue001 b")[0] == "a 0 b"


def test_names_of_the_template() -> None:
    assert rows_of_page("1", "Es sind {{Einheit|5|km}} nach Foo.") == []
    assert rows_of_page("1", "Es sind {{Einheit|5|km}} nach Foo.", names=("einheit",))[0]["number"] == "5"


def test_dumps_are_read_compressed_or_plain(tmp_path: Path) -> None:
    data = DUMP.encode()
    for ending, content in (("xml", data), ("xml.bz2", bz2.compress(data)), ("xml.gz", gzip.compress(data))):
        path = tmp_path / f"dump.{ending}"
        path.write_bytes(content)
        assert [page[:2] for page in pages_of_dump(path)] == [("11", "Lake"), ("14", "Hill")], ending
        assert list(pages_of_dump(path))[1][2:] == ("A hill of <b>earth</b>.", "en"), ending


def test_pages_are_released_after_reading(tmp_path: Path) -> None:
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


def test_files_that_are_no_dump(tmp_path: Path) -> None:
    for content in (b"<mediawiki><page>", b"hello"):
        (tmp_path / "d.xml").write_bytes(content)
        with pytest.raises(SourceError, match="not an XML dump: "):
            list(pages_of_dump(tmp_path / "d.xml"))
    with pytest.raises(SourceError, match="no such file"):
        list(pages_of_dump(tmp_path / "nowhere.xml"))
    (tmp_path / "d.xml.bz2").write_bytes(b"hello")
    with pytest.raises(SourceError, match="cannot be read: "):
        list(pages_of_dump(tmp_path / "d.xml.bz2"))
