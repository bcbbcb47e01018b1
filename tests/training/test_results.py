"""Result files: written atomically, and refused for other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from numerate.training import results
from numerate.training.results import OtherSettingsError, Result

if TYPE_CHECKING:
    from pathlib import Path


def test_a_result_with_other_settings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "below" / "one.json"
    assert not Result.exists_with(file, {"width": 3})
    written = Result({"width": 3, "sizes": (1, 2), "json": "out.json"}, {"r2": 0.5})
    written.write(file)
    found = Result.read(file)
    assert found.figures == {"r2": 0.5} and found.machine == written.machine and not list(tmp_path.rglob("*.part"))
    assert found.config == {"width": 3, "sizes": [1, 2]}, "without the path of the file itself"
    assert Result.exists_with(file, {"width": 3, "sizes": (1, 2)}), "JSON has no tuples"
    assert Result.exists_with(file, {"width": 3, "new": True}), "an unknown setting was added later"
    said = r"^one\.json exists with width=3 \(requested 4\): choose another --output or delete it$"
    with pytest.raises(OtherSettingsError, match=said):
        Result.exists_with(file, {"width": 4})
    assert Result.exists_with(file, {"width": 4}, ignore=("width",))


@pytest.mark.parametrize("path", ["", "/nowhere"])
def test_a_machine_without_git_has_no_commit(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path)
    monkeypatch.delenv("NUMERATE_COMMIT", raising=False)
    assert results.describe()["commit"] is None
    monkeypatch.setenv("NUMERATE_COMMIT", "abc")
    assert results.describe()["commit"] == "abc"
