"""Result files: written whole, and not taken for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from numerate.training.results import OtherSettingsError, differences, is_there, read_figures, write

if TYPE_CHECKING:
    from pathlib import Path


def test_a_result_says_how_it_was_made(tmp_path: Path) -> None:
    file = tmp_path / "below" / "one.json"
    assert not is_there(file, {"width": 3}) and differences(file, {"width": 3}) is None
    write(file, config={"width": 3, "sizes": (1, 2), "json": "out.json"}, figures={"r2": 0.5})
    assert read_figures(file) == {"r2": 0.5} and not list(tmp_path.rglob("*.part"))
    assert is_there(file, {"width": 3, "sizes": (1, 2)})  # JSON has no tuples
    assert is_there(file, {"width": 3, "younger": True})  # what was not told had no other value
    with pytest.raises(OtherSettingsError, match=r"one\.json is there with width 3 and not 4: give another folder"):
        is_there(file, {"width": 4})
    assert is_there(file, {"width": 4}, apart=("width",))
