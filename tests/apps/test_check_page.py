"""The HTML report of `check`: texts and tables with marked numbers, links both ways, and nothing that runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from numerate.apps import check_outcome
from numerate.apps.check import CheckOptions, Outcome, check
from numerate.apps.check_page import check_page
from numerate.apps.check_processes import check_files

TEXT = "The lake is 28 km (27 mi) long & <b>deep</b>. It had 12 men and 15 women, 28 people in all."
EVIL = '<script>alert("1")</script><img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """All tags and ids of a page, and the text of each marked cell."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = {name: value or "" for name, value in attrs}
        assert not any(name.startswith("on") or "javascript" in value for name, value in values.items())
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rows = [f"{EVIL if n == 40 else n},{n % 7 + 2},{(n + 3) * (n % 7 + 2)},{100 + 37 * n % 61}" for n in range(300)]
    rows[41] = "41,8,352,1300"
    table = "| a | b | sum |\n|--|--|--|\n| 11 | 22 | 33 |\n| 14 | 25 | 39 |\n| 31 | 13 | 44 |\n| 17 | 18 | 36 |\n"
    contents = {
        "a.txt": f"{TEXT}\n\n{EVIL}",
        f"b{EVIL.replace('/', '')}.md": f"# Sums\n\n{table}\nThe lake is 28 km (27 mi) long.",
        "c.csv": f"{EVIL},price,amount,size\n" + "\n".join(rows), "empty.txt": "",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return [*(str(tmp_path / name) for name in contents), str(tmp_path / "missing.txt")]


def test_tables_and_texts_are_shown_and_linked(files: list[str]) -> None:
    outcome = check_files(files, CheckOptions(false_alarms=0.001), excerpts=True)
    shown = check_page(outcome).decode()
    page = Page(shown)
    count = len(outcome.findings)
    assert count >= 5 and not page.open and not page.tags & {"script", "img", "iframe", "link", "object", "form", "b"}
    assert shown.count("&lt;script&gt;") >= 3 and "&amp; &lt;b&gt;deep&lt;/b&gt;" in shown
    assert sorted(page.ids) == sorted([f"f{at + 1}" for at in range(count)] + [f"n{at + 1}" for at in range(count)])
    assert sorted(page.links) == sorted(f"#{each}" for each in page.ids), (
        "each finding and its place link to each other"
    )
    assert re.search(r'<td class="error" id="n\d+" title="[^"]*"><a href="#f\d+">1300</a> <ins>→ 130</ins></td>', shown)
    assert '<a href="#f' in shown and ">36</a> <ins>→ 35</ins></td>" in shown
    assert '<path class="area"' in shown and "of 300 rows are shown" in shown and "without findings" not in shown
    assert shown.index("Sums") < shown.index(">36</a>") and "default-src 'none'" in shown
    assert "Places without a link" not in shown
    assert "missing.txt" in shown and "http" not in shown.replace("http-equiv", "")


def test_a_page_has_bounds(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_outcome, "KEPT", 50)
    outcome = check_files(files, CheckOptions(false_alarms=0.001), excerpts=True)
    page = Page(check_page(outcome).decode())
    assert "Places without a link are in parts of the files that are not shown here." in check_page(outcome).decode()
    assert {Path(each.source).name for each in outcome.excerpts} == {"a.txt"}
    assert len([each for each in page.ids if each[0] == "n"]) == 2 < len([each for each in page.ids if each[0] == "f"])
    assert sorted(each[1:] for each in page.links if each[1] == "n") == sorted(
        each for each in page.ids if each[0] == "n"
    )
    assert "No findings" in check_page(Outcome()).decode()


def test_rows_around_findings_are_shown(tmp_path: Path) -> None:
    rows = [[str(n), str(100 + 37 * n % 61)] for n in range(300)]
    rows[10][1], rows[200][1] = "1300", "1290"
    (tmp_path / "a.csv").write_text("\n".join(",".join(row) for row in [["n", "size"], *rows]))
    outcome = check_files([str(tmp_path / "a.csv")], CheckOptions(false_alarms=0.001), excerpts=True)
    (excerpt,) = outcome.excerpts
    assert [row for row, _, _ in excerpt.rows] == [8, 9, 10, 11, 12, 198, 199, 200, 201, 202]
    assert [line for _, line, _ in excerpt.rows][:2] == [10, 11] and excerpt.count == 300
    assert "185 rows without findings" in check_page(outcome).decode()
    wide = [{f"c{at}": n * at % 7 for at in range(60)} | {"last": 100 + 37 * n % 61} for n in range(80)]
    wide[5]["last"] = 1300
    from numerate.apps.formats.json_records import record_document

    shown = check_outcome.excerpt_of(record_document(wide), 0, check(wide))
    assert shown is not None and len(shown.columns) == check_outcome.MAX_COLUMNS and shown.header[-1] == "last"
