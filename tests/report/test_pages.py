"""A page is self-contained, and texts in it are escaped."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from numerate.report import learning_curves, page, table
from numerate.report.figure_style import rendered

if TYPE_CHECKING:
    from pathlib import Path

VOID = {"meta", "img", "link", "br"}


class Checked(HTMLParser):
    """Checks that tags are closed in order; collects tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page(tmp_path: Path) -> None:
    figure = learning_curves({"a<b": ([0, 1], [2.0, 1.0])}, title='Loss "x"')
    parts = ["<script>alert(1)</script> & more", table({"m": [1.0]}, ["APP"]), figure]
    path = page("R & D <1>", {"One </h2>": parts}, tmp_path / "out" / "page.html")
    text = path.read_text("utf-8")
    checked = Checked(text)
    tags = [tag for tag, _ in checked.seen]
    assert "script" not in tags and "link" not in tags and tags.count("table") == 1
    image = next(attributes for tag, attributes in checked.seen if tag == "img")
    head, data = str(image["src"]).split(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data) == rendered(figure)
    assert image["alt"] == 'Loss "x", loss, step'
    assert not re.search(r"(?:src|href)\s*=\s*\"(?!data:)|url\(|@import", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in text
    assert "<title>R &amp; D &lt;1&gt;</title>" in text
    assert "prefers-color-scheme: dark" in text
    assert "default-src 'none'" in text
    assert len(text) < 40_000
    again = page("R & D <1>", [("One </h2>", parts)], tmp_path / "again.html")
    assert again.read_bytes() == path.read_bytes()


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must be a text, table or figure, got 3"):
        page("x", {"a": [3]}, tmp_path / "x.html")
    with pytest.raises(TypeError, match="section 'a' must be a list of parts, got 'text'"):
        page("x", {"a": "text"}, tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


def test_pages_of_tables_need_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page("x", {"a": [table({"m": [1.0]}, ["APP"])]}, tmp_path / "x.html")
    assert "<td>1.00</td>" in (tmp_path / "x.html").read_text("utf-8")
