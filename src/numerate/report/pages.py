"""Results as one file that anyone can open: no network, no scripts, figures and all inside."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.figure_files import rendered
from numerate.report.tables import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["page"]

# The browser itself is told to load nothing, whatever a result's text may say.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_CSS = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ddd; --soft: #666; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e4; --paper: #181818; --line: #3a3a3a; --soft: #a0a0a0; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.2; font-weight: 600; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child { text-align: left; }
tbody th { font-weight: normal; }
.note { color: var(--soft); font-size: .9rem; margin: .3rem 0; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
"""


def page(
    title: str,
    sections: Mapping[str, Iterable[Any]] | Iterable[tuple[str, Iterable[Any]]],
    path: str | os.PathLike[str],
) -> Path:
    """Writes one HTML file, whole or not at all; light or dark as the reader's system is.

    Texts are taken as they are: no markup in them has any effect. Figures are SVG, each within its own image, so that
    their ids do not meet, and on white in the dark, too.

    Args:
        title: Of the page.
        sections: Headings to what stands below them: texts (a paragraph each), tables (`table`) and figures.
        path: Where to.

    Returns:
        The path.

    Example:
        >>> import tempfile
        >>> from numerate.report import table
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     parts = ["Lower is better, if a < b.", table({"mog": [1.0]}, ["APP"])]
        ...     written = page("Results", {"Perplexity": parts}, f"{folder}/results.html").read_text("utf-8")
        >>> "if a &lt; b" in written, "<script" in written
        (True, False)
    """
    pairs: Any = sections.items() if isinstance(sections, Mapping) else sections
    body = [f"<h1>{html.escape(title)}</h1>"]
    for heading, parts in pairs:
        if isinstance(parts, str):
            raise TypeError(f"what stands below {heading!r} must be a list of parts, got {parts!r}")
        body += [f"<h2>{html.escape(heading)}</h2>", *map(_part, parts)]
    head = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>",
    ]
    return write_atomically(path, "\n".join([*head, *body, "</body>\n</html>\n"]).encode())


def _part(part: Any) -> str:
    if isinstance(part, str):
        return f"<p>{html.escape(part)}</p>"
    if isinstance(part, Table):
        return f'<div class="scroll">{part.html()}</div>'
    if hasattr(part, "savefig"):
        return _image(part)
    raise TypeError(f"a page holds texts, tables and figures, got {part!r}")


def _image(figure: Any) -> str:
    axes = figure.axes[0] if figure.axes else None
    words = [axes.get_title(loc="left"), axes.get_ylabel(), axes.get_xlabel()] if axes is not None else []
    alt = html.escape(", ".join(word for word in words if word) or "figure")
    data = base64.b64encode(rendered(figure, "svg")).decode()
    return f'<p><img alt="{alt}" src="data:image/svg+xml;base64,{data}"></p>'
