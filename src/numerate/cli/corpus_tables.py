"""The results of `stats` and `audit` as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from numerate.apps.numeral_view import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["audit_tables", "stats_table"]


def stats_table(results: list[dict[str, Any]]) -> Table:
    """A table with one column per file and one row per figure."""
    table = Table(title="Numbers in the corpus", title_justify="left")
    table.add_column("")
    for result in results:
        table.add_column(Text(visible(str(result["file"]))), justify="right", overflow="fold")
    for key in results[0]:
        if key in ("file", "reader", "approximate"):
            continue
        # A nested figure gets one row for each key that any file has.
        members = _union(result[key] for result in results) if isinstance(results[0][key], dict) else [None]
        for place, member in enumerate(members):
            name = key.replace("_", " ")
            label = name if member is None else f"{name}: {member}"
            cells = [_cell(result, key, member) for result in results]
            table.add_row(Text(visible(label)), *cells, end_section=member is not None and place == len(members) - 1)
    if any(result["approximate"] for result in results):
        table.caption = "≈ approximate: the corpus has more different tokens or values than fit into memory"
    return table


def _cell(result: dict[str, Any], key: str, member: Any) -> str:
    value = result[key] if member is None else result[key].get(member)
    mark = "≈ " if key in result["approximate"] else ""
    if isinstance(value, dict):  # out-of-vocabulary rates
        return mark + " / ".join(f"{name} {_percentage(share)}" for name, share in value.items())
    if value is None:
        return "-"
    if key.startswith(("share_", "texts_with")):
        return _percentage(value)
    return mark + (f"{value:,}" if isinstance(value, int) else f"{value:,.6g}")


def _percentage(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _union(dicts: Iterable[dict[Any, Any]]) -> list[Any]:
    members = list(dict.fromkeys(member for each in dicts for member in each))
    return sorted(members) if all(isinstance(member, int) for member in members) else members


def audit_tables(result: dict[str, Any]) -> list[Table]:
    """Three tables: figures, examples, and numbers with several different splits."""
    figures = Table(title="How the tokenizer splits numbers", title_justify="left", show_header=False)
    digit_tokens = ", ".join(f"{count} of {length}" for length, count in result["digit_tokens"].items())
    figures.add_row("tokenizer", f"{result['tokenizer']}, {result['vocabulary']:,} tokens")
    figures.add_row("tokens of digits alone", f"{digit_tokens} digits" if digit_tokens else "none")
    figures.add_row("numbers looked at", f"{result['numbers']:,}")
    mean = result["tokens_per_number"]
    figures.add_row("tokens per number", "-" if mean is None else f"{mean:.2f}")
    for digits, mean in result["tokens_by_digits"].items():
        figures.add_row(f"  of {digits} digit{'s' if digits > 1 else ''}", f"{mean:.2f}")
    figures.add_row("whole numbers are split as", result["splitting"])
    for way, share in result["splitting_shares"].items():
        figures.add_row(f"  {way}", _percentage(share))
    for key, label in _AUDIT_SHARES.items():
        mark = "≈ " if key in result["approximate"] else ""
        figures.add_row(label, mark + _percentage(result[key]))
    examples = Table("number", "pieces", title="Examples", title_justify="left")
    for number, pieces in result["examples"].items():
        examples.add_row(number, pieces)
    if not result["inconsistent"]:
        return [figures, examples]
    uneven = Table("number", "ways", title="Split differently by context", title_justify="left")
    for number, ways in result["inconsistent"].items():
        uneven.add_row(Text(visible(number)), Text(visible("   or   ".join(ways))))
    return [figures, examples, uneven]


_AUDIT_SHARES = {
    "share_inconsistent": "same number, different splits",
    "share_unknown": "with unknown tokens",
    "share_glued": "glued to a neighbour",
    "share_round_trip": "survive encoding and decoding",
}
