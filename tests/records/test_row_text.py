"""Rows of tables as texts, and back from a place in the text to a cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from numerate.records.row_text import row_texts

CELLS = st.lists(st.text(alphabet="ab 12.,\n;:", max_size=30), max_size=12)


@given(CELLS, CELLS, st.text(max_size=100), st.integers(40, 400))
def test_every_cell_is_shown_once_and_found_again(header: list[str], row: list[str], caption: str, most: int) -> None:
    parts = list(row_texts(header, row, caption, most=most))
    shown: dict[int, str] = {}
    for part in parts:
        for index, (column, start, length) in enumerate(part.cells):
            text = part.text[start : start + length]
            assert text == row[column].replace("\n", " ") and part.cell_at(start, start + length) == (column, 0, length)
            assert column not in shown or index == 0  # the first cell of a row begins each part
            shown[column] = text
    assert sorted(shown) == [column for column, cell in enumerate(row) if cell.strip()]


def test_long_rows_repeat_their_name() -> None:
    header, row = [f"column {index}" for index in range(40)], ["Eiffel Tower", *(str(index) for index in range(39))]
    parts = list(row_texts(header, row, "Towers", most=200))
    assert len(parts) > 3 and all(part.text.startswith("Towers. column 0: Eiffel Tower; ") for part in parts)
    assert all(len(part.text) <= 240 for part in parts)
    place = parts[1].text.index("Towers")
    assert parts[1].cell_at(place, place + 6) is None
