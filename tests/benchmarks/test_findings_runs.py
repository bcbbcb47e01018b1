"""The runs behind the claims: the plan names what there is, and results come back whole."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import zipfile
from typing import TYPE_CHECKING, Any

import number_data
import pytest

from numerate_lab.tasks.next_numeral.corpora import read_corpus

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `prepare` writes it, with small data and a tiny model."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "units").mkdir()
    number_data.write_data(folder / "units")
    number_data.write_model(folder / "minilm-mlm")
    (folder / "scientific").mkdir()
    for split in ("train", "dev", "test"):
        reports = itertools.islice(read_corpus("clinical", split), 12)
        lines = [json.dumps({"id": each["id"], "text": each["text"]}) for each in reports]
        (folder / "scientific" / f"{split}.jsonl").write_text("\n".join(lines), "utf-8")
    (folder / "wiki").mkdir()
    with gzip.open(folder / "wiki" / "passages.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write('{"text": "A cat sat on the mat.", "split": "test"}\n')
    return folder


PLAN = """
parts:
  differences: {task: subtract-6, rates: [1.0e-3], options: {}, seconds: {fourier+heavy-sign: 5}}
  planets: {table: xval-table5, seconds: {xval+scalar: 5, p10: 5}}
  planets-hidden: {table: xval-table5, fields: {hide_slot: true}, seconds: {xval+scalar: 5}}
  words: {table: literacy-rates, seconds: {default: 5, default-wide: 5, late-blind: 5}}
  numbers: {table: masked-numbers-rates, seconds: {spelled: 5, default-all+ratios: 5}}
  heads: {table: numerals-heads, seconds: {softmax: 5, mog+copies: 5}}
order:
  - {part: planets, rows: [p10, xval+scalar]}
  - {part: words, rows: [default, default-wide, late-blind], seeds: 2}
  - {part: heads, rows: [softmax, mog+copies]}
  - {part: numbers, rows: [spelled, default-all+ratios]}
  - {part: planets-hidden, rows: [xval+scalar]}
  - {part: differences, rows: [fourier+heavy-sign]}
"""


@pytest.mark.slow
def test_the_whole_chain_at_the_smallest_scale(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import findings_runs

    for name in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE", "TORCHINDUCTOR_COMPILE_THREADS"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))  # `run` sets them for its workers
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    findings_runs.shrink(data / "minilm-mlm" / "model.safetensors")
    shared = [f"--data={data}", f"--plan={tmp_path / 'plan.yaml'}", "--scale=tiny", "--processes=1"]
    for number in (1, 2):  # the second time there is nothing left to do, though the working folder is another one
        out, work = tmp_path / f"out{number}", tmp_path / f"work{number}"
        done = [f"--done={tmp_path / 'out1' / 'trials.zip'}"] if number == 2 else []
        findings_runs.main(["run", *shared, *done, f"--output={out}", f"--work={work}", "--minutes=30"])
        printed = capsys.readouterr().out
        assert "0 trials had no time" in printed and "failed" not in printed, printed
        assert (" done in " in printed) == (number == 1)
    results = tmp_path / "results"
    findings_runs.main(["join", *map(str, (tmp_path / "out1").iterdir()), "-o", str(results)])
    findings_runs.main(["tables", *shared, f"--output={results}"])
    printed = capsys.readouterr().out
    for name in ("literacy-rates-units-minilm-mlm-head.md", "masked-numbers-rates-units-minilm-mlm-head.md",
                 "numerals-heads-scientific.md", "planets/compare.md", "subtract-6/compare.md"):  # fmt: skip
        assert (results / name).is_file(), printed
    text = (results / "literacy-rates-units-minilm-mlm-head.md").read_text("utf-8")
    assert "| default-wide |" in text
    assert (results / "xval-table5.md").is_file(), printed


def test_the_plan_names_rows_that_can_be_trained(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import findings_runs

    plan = findings_runs.read_plan()
    goals = findings_runs.goals_of(plan, data, "small")
    assert {goal.part for goal in goals} == set(plan["parts"])
    for goal in goals:
        assert set(goal.encodings) <= set(goal.grid.encodings) & set(goal.seconds), goal.part
        assert goal.grid.rate_share == (0.5 if goal.part == "heads" else 1.0), "at least half of the budget"
        assert len(goal.grid.rates) >= 2 and goal.seeds <= goal.grid.seeds
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


def test_a_shared_folder_does_not_come_back_in_part(tmp_path: Path) -> None:
    import findings_runs

    for name in ("shared/a/pool.json", "shared/a/texts/manifest.json", "shared/a/texts/train.jsonl", "a/one.json"):
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_text("{}")
    (tmp_path / "out").mkdir()
    findings_runs.pack(tmp_path / "work", tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / "trials.zip") as file:
        assert sorted(file.namelist()) == ["a/one.json", "shared/a/pool.json"]
