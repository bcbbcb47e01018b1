"""What a reader sees of Markdown and HTML, and where it stands in the file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from numerate.apps.check import check
from numerate.apps.documents import Document, Problem
from numerate.apps.formats.html_characters import placed_pieces, shifted_text
from numerate.apps.formats.markdown_lines import MAX_MARKED, plain_cell, plain_line
from numerate.apps.formats.opening import read_documents

if TYPE_CHECKING:
    from pathlib import Path


def shown(file: Path, content: str) -> str:
    """The text that is checked."""
    file.write_text(content, encoding="utf-8")
    return "\n".join(each.text for each in read_documents(str(file)) if isinstance(each, Document))


def at_their_places(file: Path) -> list[bool]:
    """For each finding, whether its number stands at its line and column in the file."""
    lines = file.read_text(encoding="utf-8").split("\n")
    found = [each for each in check(file, model=False) if each.line is not None and each.column is not None]
    return [lines[each.line - 1][each.column - 1 :].startswith("27") for each in found]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<b>28</b> <i>km</i>", "28 km"),
        ("<td>", ""),
        ("Goals: <b>10</b>\n<b>20</b>", "Goals: 10 20"),
        ("3&times;10<sup>8</sup> m/s", "3×10⁸ m/s"),
        ("10<sup>&minus;3</sup> m", "10⁻³ m"),
        ("5 m<sup>2</sup>", "5 m²"),
        ("1,250<sup>2,3</sup> men", "1,250²,³ men"),
        ("12<sup><a href=#n>4</a></sup>", "12⁴"),
        ("log<sub>10</sub>100", "log₁₀100"),
        ("the 2<sup>nd</sup>", "the 2nd"),
        ("5<sup>2<p>7 men", "5²\n\n7 men"),
        ("AT&T has R&D; 5 < 6 &amp; 7", "AT&T has R&D; 5 < 6 & 7"),
    ],
)
def test_what_is_seen_of_html(tmp_path: Path, body: str, expected: str) -> None:
    assert shown(tmp_path / "a.html", f"<body>{body}</body>").strip() == expected


def test_cells_of_html_have_raised_digits(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    rows = "".join(f"<tr><td>{name}</td><td>{size}<sup>1</sup></td></tr>" for name, size in (("a", 5), ("b", 7)))
    file.write_text(f"<table><tr><th>name</th><th>m<sup>2</sup></th></tr>{rows}</table>")
    (table,) = read_documents(str(file))
    assert table.header == ["name", "m²"] and table.rows == [["a", "5¹"], ["b", "7¹"]]  # type: ignore[union-attr]


def test_columns_of_html_count_entities_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        "<p>caf&eacute;, 28&nbsp;km (27&nbsp;mi)</p>\n<p>&copy; &#8212; R&D\n  28&#160;km <b>&lpar;</b>27 mi)</p>\n"
        "<p>AT&T, 5 < 6, <i>28</i> km &amp; (27 mi) 28 km (27 mi)</p>"
    )
    assert at_their_places(file) == [True] * 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("28&nbsp;km, &minus;5&#8239;%", "28\xa0km, −5\u202f%"),
        (r"it costs \$5, 4 \* 3", "it costs $5, 4 * 3"),
        ("5 m<sup>2</sup>, 10<sup>&minus;3</sup>, CO<sub>2</sub>", "5 m², 10⁻³, CO₂"),
        ("[28 km](a.md) of **12 [men](b.md 'x 5')**", "28 km of 12 men"),
        ("in 2010[3](#notes) and 2011[^4]", "in 2010[3] and 2011"),
        ("[^4]: a note", " a note"),
        ("see https://a.b/2010, `x = 5` and <b>7</b><br>8", "see     and 7 8"),
        ("5*3 and snake_case_2", "5*3 and snake_case_2"),
        ("> > quoted 5", "quoted 5"),
        ("#5 of 12", "#5 of 12"),
        ("### Part 5", "\n Part 5\n"),
        ("====", ""),
        ("R&D at AT&T; 5 < 6 and 7 > 6", "R&D at AT&T; 5 < 6 and 7 > 6"),
    ],
)
def test_what_is_seen_of_a_line_of_markdown(line: str, expected: str) -> None:
    text, places = plain_line(line)
    assert text == expected
    for offset, column in places:  # what follows a place is written there, unless it is markup again
        piece = text[offset:].split("\n")[0][:1]
        assert not piece.isalnum() or line[column - 1] == piece or line[column - 1] in "&\\`*_[<!]h"


def test_columns_of_markdown_are_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "# Lakes of 2020\nThe [lake](a.md) is 28&nbsp;km (27 mi) long.\n\n- **28** km `x = 5` (27 mi)\n"
        "  - \\$5 for <i>28 km</i> (27&nbsp;mi)\n\n> ~~4~~ 28 km[^1] (27 mi)\n"
    )
    assert at_their_places(file) == [True] * 4


def test_a_heading_belongs_to_no_sentence(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    text = shown(file, "# Report of 2020\nThe lake is 28 km (27 mi) long.\n## Rivers\n12 rivers\n")
    (document,) = read_documents(str(file))
    spans = document.sentences  # type: ignore[union-attr]
    assert [text[start:end] for start, end in spans] == [
        "Report of 2020", "The lake is 28 km (27 mi) long.", "Rivers", "12 rivers",
    ]  # fmt: skip
    assert [(each.line, each.column) for each in check(file, model=False)] == [(2, 20)]


def test_cells_of_markdown(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    rows = "| [Pears](b.md) | 5*3 |\n| a \\| b | 1&nbsp;200 |\n"
    file.write_text(f"| [Item](a.md) \\| kind | `count` |\n|:--|--:|\n{rows}")
    (table,) = read_documents(str(file))
    assert table.header == ["Item | kind", "count"]  # type: ignore[union-attr]
    assert table.rows == [["Pears", "5*3"], ["a | b", "1\xa0200"]]  # type: ignore[union-attr]
    assert plain_cell("1,300*") == "1,300*" and plain_cell("**1,300**") == "1,300" and plain_cell("> 5") == "> 5"


def test_front_matter_of_hugo_is_no_text(tmp_path: Path) -> None:
    assert shown(tmp_path / "a.md", "+++\nsize = 5\n+++\nThe end of 7.\n").strip() == "The end of 7."


def test_markup_takes_linear_time_up_to_its_limit() -> None:
    for piece in ("[", "](", "<a ", "`x ``", "&#", "**a", "<!--", "![a](b '"):
        line = (piece * MAX_MARKED)[:MAX_MARKED]
        begin = time.perf_counter()
        plain_line(line)
        plain_line(line + "x" * MAX_MARKED)
        assert time.perf_counter() - begin < 3, piece


def test_raised_digits_and_pieces() -> None:
    assert shifted_text(" -12 ", "sup") == " ⁻¹² " and shifted_text("[3]", "sup") == "[³]"
    assert placed_pieces("a\n&amp;b\nc", "a\n&b\nc", (3, 5)) == [(3, (3, 5)), (3, (4, 5))]
    assert placed_pieces("another &amp; source", "text", (1, 0)) == [(4, (1, 0))]


def test_raised_digits_of_word_files(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    file, document = tmp_path / "a.docx", docx.Document()
    paragraph = document.add_paragraph("The area is 5 m")
    paragraph.add_run("2").font.superscript = True
    paragraph.add_run(" (90 sq ft), 10")
    paragraph.add_run("-3").font.superscript = True
    paragraph.add_run(" m of CO")
    paragraph.add_run("2").font.subscript = True
    document.save(file)
    (text,) = [each.text for each in read_documents(str(file)) if isinstance(each, Document)]
    assert text == "The area is 5 m² (90 sq ft), 10⁻³ m of CO₂"
    assert [each.meant for each in check(file, model=False)] == ["54 sq ft"]


def test_a_broken_line_of_json_is_named_by_its_own_place(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1, "b": 2}\n{broken\n')
    (problem,) = [each for each in read_documents(str(file)) if isinstance(each, Problem)]
    assert problem.line == 2 and problem.message.endswith("in double quotes, column 2")
    assert "line 1" not in problem.message, "the line of the file is named before"
