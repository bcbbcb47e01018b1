"""What the page of `numerate play` shows, as HTML: marked numbers, words, densities, findings. It knows no web server.

All text is escaped, so that markup in it is shown as text, and all input has a limit.
"""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.fill import MASK, NUM
from numerate.apps.numeral_view import format_value, meaning, visible
from numerate.errors import BadInput, NumerateError
from numerate.numerals.numeral import render
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numerate.numerals.numeral import Numeral

__all__ = [
    "MAX_FILE_BYTES", "MAX_SENTENCE", "MAX_TEXT", "checked_html", "densities_html", "marked_html", "moved_text",
    "number_names", "result_files", "result_text", "words_html",
]  # fmt: skip

MAX_SENTENCE = 2_000
MAX_TEXT = 200_000
"""Characters of a pasted text that is checked."""
MAX_FILE_BYTES = 5 << 20
_COLOURS = {
    "quantity": "#bde7ff", "percent": "#f3c6ff", "money": "#c8f2c0", "year": "#ffe9a8", "ordinal": "#cfd8ff",
}  # fmt: skip
_WIDTH, _HEIGHT = 640, 120
_INSTEAD = "use `numerate check FILE`"


def safely(function: Callable[..., str]) -> Callable[..., str]:
    """A function whose expected errors become one line of HTML."""

    def guarded(*arguments: Any) -> str:
        try:
            return function(*arguments)
        except NumerateError as error:
            return f'<p class="numerate-error">{html.escape(visible(str(error)))}</p>'

    return guarded


def check_size(text: str | None, most: int) -> str:
    """The text; refuses one that is too long.

    Raises:
        BadInput: It has more than `most` characters.
    """
    text = text or ""
    if len(text) > most:
        raise BadInput(f"the text has {len(text):,} characters, at most {most:,} are read here: {_INSTEAD}")
    return text


def marked_html(text: str, numerals: Sequence[Numeral] | None = None) -> str:
    """A text with its numbers marked as they are read; a tooltip says value, kind and unit.

    Example:
        >>> marked_html("<b> 5 kg")
        '<p class="numerate-text">&lt;b&gt; <mark ... title="5 kg, quantity">5</mark> kg</p>'
    """
    parts, last = [], 0
    for each in find(text) if numerals is None else numerals:
        colour, said = _COLOURS.get(each.kind, "#e6e6e6"), html.escape(f"{meaning(each)}, {each.kind}")
        parts.append(_escaped(text[last : each.start]))
        shown = _escaped(text[each.start : each.end])
        parts.append(f'<mark style="background:{colour};color:#111" title="{said}">{shown}</mark>')
        last = each.end
    return f'<p class="numerate-text">{"".join(parts)}{_escaped(text[last:])}</p>'


def number_names(text: str) -> list[str]:
    """The numbers of a sentence with their places, for a choice: `1: 45 kg`."""
    return [f"{at + 1}: {each.text}" for at, each in enumerate(find(text[:MAX_SENTENCE]))]


def moved_text(text: str, chosen: str | None, power: float) -> str:
    """The text with one of its numbers multiplied by a power of ten, written in the same style."""
    text = check_size(text, MAX_SENTENCE)
    numerals = find(text)
    place = int(chosen.partition(":")[0]) - 1 if chosen and chosen.partition(":")[0].isdecimal() else 0
    if not 0 <= place < len(numerals) or not power:
        return text
    each = numerals[place]
    rounded = float(f"{each.value * 10.0**power:.3g}")
    style = each.style
    if style.family == "decimal" and style.exponent is None:
        import dataclasses

        written = float(f"{each.written * 10.0**power:.3g}")  # of 1.5 billion, 1.5
        decimals = len(f"{written:.12f}".rstrip("0").partition(".")[2]) if math.isfinite(written) else 0
        style = dataclasses.replace(style, decimals=decimals, anchor=None)
    return f"{text[: each.start]}{render(style, rounded)}{text[each.end :]}"


def words_html(text: str, found: Sequence[Sequence[dict[str, Any]]], names: Sequence[str]) -> str:
    """The words that each model puts into the first `[MASK]` of a text, side by side.

    Args:
        text: The text, in which a number was moved.
        found: The gaps of the text of each model, as `numerate.apps.fill.fill_gaps` gives them.
        names: Names of the models.
    """
    shown = marked_html(text)
    if MASK not in text:
        return f"{shown}<p>Write {MASK} for a word, and see how it changes with the number.</p>"
    columns = []
    for gaps, name in zip(found, names, strict=True):
        words = next(each["words"] for each in gaps if "words" in each)
        rows = "".join(
            f"<tr><td>{each['probability']:.1%}</td><td>{_escaped(each['word'])}</td></tr>" for each in words
        )
        columns.append(f"<div><h4>{html.escape(name)}</h4><table>{rows}</table></div>")
    return f'{shown}<div class="numerate-columns">{"".join(columns)}</div>'


def densities_html(text: str, found: Sequence[Sequence[dict[str, Any]]], names: Sequence[str]) -> str:
    """The distribution of each `[NUM]` of a text on a logarithmic number line, one for each model; as `words_html`."""
    if NUM not in text:
        return f"<p>Write {NUM} for a number, as in: The tower is {NUM} metres tall.</p>"
    columns = []
    for gaps, name in zip(found, names, strict=True):
        drawn = "".join(_gap_html(each) for each in gaps if each["gap"] == NUM)
        columns.append(f"<div><h4>{html.escape(name)}</h4>{drawn}</div>")
    return f'<div class="numerate-columns">{"".join(columns)}</div>'


def checked_html(text: str, path: str | None, model: Any) -> str:
    """The findings of a pasted text or of an uploaded file."""
    size = Path(path).stat().st_size if path else 0
    if size > MAX_FILE_BYTES:
        raise BadInput(f"the file has {size:,} bytes, at most {MAX_FILE_BYTES:,} are read here: {_INSTEAD}")
    text = check_size(text, MAX_TEXT)
    try:
        from numerate.apps.check import check
    except ImportError:
        raise BadInput("checking is not part of this version") from None
    if not (size if path else text.strip()):
        return "<p>Nothing to check: write a text, or choose a file.</p>"
    try:
        found = check(Path(path) if path else text, model=False if model is None else model)
    except BadInput as error:  # without the folder in which the page keeps what was uploaded
        raise BadInput(str(error).replace(str(path), Path(path).name) if path else str(error)) from None
    if not found:
        return "<p>Nothing looks wrong.</p>"
    rows = []
    for each in found[:200]:
        start, end = each.marked or (0, 0)
        before, inside, after = each.passage[:start], each.passage[start:end], each.passage[end:]
        passage = f"{_escaped(before)}<mark>{_escaped(inside)}</mark>{_escaped(after)}"
        meant = f" → <b>{_escaped(each.meant)}</b>" if each.meant else ""
        rows.append(
            f"<tr><td>{each.probability:.0%}</td><td>{_escaped(each.rule)}</td><td>{_escaped(each.message)}{meant}<br>"
            f"<small>{passage}</small></td></tr>"
        )
    more = f"<p>{len(found) - 200} more.</p>" if len(found) > 200 else ""
    return f"<table><tr><th>sure</th><th>rule</th><th>what</th></tr>{''.join(rows)}</table>{more}"


def result_files(folder: str | Path = "results") -> list[str]:
    """The names of the tables of a folder of results."""
    place = Path(folder)
    return sorted(path.name for path in place.glob("*.md")) if place.is_dir() else []


def result_text(name: str | None, folder: str | Path = "results") -> str:
    """A table of the folder, as Markdown; only names that `result_files` gave are read."""
    if name not in result_files(folder):
        return "There are no results here: start `numerate play` in the repository."
    return (Path(folder) / str(name)).read_text(encoding="utf-8")[:MAX_TEXT]


def _gap_html(gap: dict[str, Any]) -> str:
    best = ", ".join(f"{_escaped(each['text'])} ({each['probability']:.0%})" for each in gap["numbers"])
    values = (gap["median"], *gap["interval_50"], *gap["interval_90"])
    median, low, high, bottom, top = (_shown(each, gap) for each in values)
    said = f"median {median}; 50 %: {low} to {high}; 90 %: {bottom} to {top}"
    return f"{_density_svg(gap)}<p>{said}<br><small>{best}</small></p>"


def _density_svg(gap: dict[str, Any]) -> str:
    """A density as an image: bins are evenly spaced in the logarithm, so that labels are values, not powers."""
    edges, shares = gap["density"]["edges"], gap["density"]["shares"]
    most, step = max(shares) or 1.0, _WIDTH / len(shares)
    bars = "".join(
        f'<rect x="{at * step:.1f}" y="{_HEIGHT * (1 - share / most):.1f}" width="{step - 1:.1f}" '
        f'height="{_HEIGHT * share / most:.1f}" fill="#4a90d9"/>'
        for at, share in enumerate(shares)
    )
    labels = "".join(
        f'<text x="{at * step:.1f}" y="{_HEIGHT + 16}" font-size="12" fill="currentColor">'
        f"{_shown(edges[at], gap, 3)}</text>"
        for at in range(0, len(edges), max(1, len(edges) // 6))
    )
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 22}" role="img" aria-label="density">{bars}{labels}</svg>'


def _shown(value: float | None, gap: dict[str, Any], digits: int = 4) -> str:
    """A number of a gap; `ModelDesk` has None for infinity. Years are not grouped, and have all digits."""
    is_year = gap.get("kind") == "year"
    return "∞" if value is None else format_value(value, digits=max(digits, 4 * is_year), grouped=not is_year)


def _escaped(text: str) -> str:
    return html.escape(visible(text.replace("\n", " ")))
