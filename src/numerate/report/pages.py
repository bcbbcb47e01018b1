"""Results as one self-contained HTML file: no network, no scripts, figures included."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.figure_style import drawable, rendered
from numerate.report.tables import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["page"]

# The browser loads nothing, whatever the texts of a result contain.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def page(
    title: str,
    sections: Mapping[str, Iterable[Any]] | Iterable[tuple[str, Iterable[Any]]],
    path: str | os.PathLike[str],
) -> Path:
    """Writes one HTML file atomically; it follows the system's light or dark mode.

    Texts are escaped: markup in them has no effect. Each figure is an SVG image of its own, so that ids do not collide,
    with a white background in dark mode, too.

    Args:
        title: Title of the page.
        sections: Headings with their parts: texts (one paragraph each), tables (`table`) and figures.
        path: File to write.

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
    css = resources.files("numerate").joinpath("data", "page.css").read_text("utf-8")
    pairs: Any = sections.items() if isinstance(sections, Mapping) else sections
    body = [f"<h1>{html.escape(title)}</h1>"]
    for heading, parts in pairs:
        if isinstance(parts, str):
            raise TypeError(f"section {heading!r} must be a list of parts, got {parts!r}")
        body += [f"<h2>{html.escape(heading)}</h2>", *map(_part, parts)]
    head = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>",
    ]
    return write_atomically(path, drawable("\n".join([*head, *body, "</body>\n</html>\n"])).encode())


def _part(part: Any) -> str:
    if isinstance(part, str):
        return f"<p>{html.escape(part)}</p>"
    if isinstance(part, Table):
        return f'<div class="scroll">{part.html()}</div>'
    if hasattr(part, "savefig"):
        return _image(part)
    raise TypeError(f"a part of a page must be a text, table or figure, got {part!r}")


def _image(figure: Any) -> str:
    axes = figure.axes[0] if figure.axes else None
    words = [axes.get_title(loc="left"), axes.get_ylabel(), axes.get_xlabel()] if axes is not None else []
    alt = html.escape(", ".join(word for word in words if word) or "figure")
    data = base64.b64encode(rendered(figure, "svg")).decode()
    return f'<p><img alt="{alt}" src="data:image/svg+xml;base64,{data}"></p>'
