"""The runs behind the claims: the plan names what there is, and results come back whole."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import number_data
import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `prepare` writes it, with small data and a tiny model."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "units").mkdir()
    number_data.write_data(folder / "units")
    number_data.write_model(folder / "minilm-mlm")
    (folder / "wiki").mkdir()
    (folder / "wiki" / "passages.jsonl.gz").write_bytes(b"")
    return folder


def test_the_plan_names_rows_that_can_be_trained(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import findings_runs

    plan = findings_runs.read_plan()
    goals = findings_runs.goals_of(plan, data, "small")
    assert {goal.part for goal in goals} == set(plan["parts"])
    for goal in goals:
        assert set(goal.encodings) <= set(goal.grid.encodings) & set(goal.seconds), goal.part
        assert goal.grid.rate_share == (0.5 if goal.part == "heads" else 1.0), "at least half of the budget"
        assert len(goal.grid.rates) >= 3 and goal.seeds <= goal.grid.seeds
        for row in goal.encodings:
            assert len(goal.grid.tries(row)) == len(goal.grid.rates)
    named = {(goal.part, row) for goal in goals for row in goal.encodings}
    assert named == {(name, row) for name, part in plan["parts"].items() for row in part["seconds"]}
    by_part: dict[str, Any] = {goal.part: goal for goal in goals}
    assert set(by_part["words"].grid.rates) == {1e-4, 3e-4, 1e-3, 3e-3} and max(by_part["numbers"].grid.rates) == 1e-2
    findings_runs.main(["plan", "--processes", "10"])
    assert "with 10 side by side" in capsys.readouterr().out


def test_weights_come_back_bit_by_bit(tmp_path: Path) -> None:
    import findings_runs

    for size in (10, 11):
        file, content = tmp_path / "model.safetensors", bytes(range(size))
        file.write_bytes(content)
        findings_runs.shrink(file)
        assert not file.exists()
        findings_runs.restore(file)
        findings_runs.restore(file)  # nothing to do
        assert file.read_bytes() == content and len(list(tmp_path.iterdir())) == 1


def test_results_come_back_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import findings_runs

    work, out = tmp_path / "work", tmp_path / "out"
    out.mkdir()
    for name, size in (("a/one", 40), ("a/two", 30), ("b/three", 50)):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / f"{name}.json").write_text(name)
        (work / f"{name}.npz").write_bytes(b"x" * size)
    monkeypatch.setattr(findings_runs, "LARGEST", 75)
    findings_runs.pack(work, out)
    assert [file.name for file in sorted(out.iterdir())] == ["predictions-1.zip", "predictions-2.zip", "trials.zip"]
    (tmp_path / "later").mkdir()
    (work / "b" / "four.npz").write_bytes(b"y")
    findings_runs.pack(work, tmp_path / "later")  # what came since, and all trials
    with zipfile.ZipFile(tmp_path / "later" / "predictions-1.zip") as file:
        assert file.namelist() == ["b/four.npz"]
    (work / "b" / "four.npz").unlink()
    (work / findings_runs.PACKED).unlink()
    findings_runs.main(["join", *map(str, out.iterdir()), "-o", str(tmp_path / "again")])
    files = {file.relative_to(work): file.read_bytes() for file in work.rglob("*.*")}
    assert {p.relative_to(tmp_path / "again"): p.read_bytes() for p in (tmp_path / "again").rglob("*.*")} == files
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as file:
        file.writestr("../outside.json", "x")
    with pytest.raises(ValueError, match="lies outside of the folder"):
        findings_runs.join([tmp_path / "bad.zip"], tmp_path / "again")
