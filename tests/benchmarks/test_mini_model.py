"""`numerate-mini` is made from end to end on invented data, and planted slips are detected."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from judging_models import facts, judging_model
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.reading import make_reader

if TYPE_CHECKING:
    from pathlib import Path


def packed(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of the data sets."""
    folder = tmp_path_factory.mktemp("data")
    texts = iter(facts(900, seed=7))
    splits = ["train"] * 6 + ["dev", "test"]
    plain = "Nobody asked why it was built of stone."
    packed(folder / "wiki" / "passages.jsonl.gz", [
        {"url": f"/wiki/Place_{index}", "split": splits[index % 8], "text": f"{next(texts)} {plain} {next(texts)}"}
        for index in range(160)
    ])  # fmt: skip
    for name in ("units", "market"):
        for split in ("train", "dev", "test"):
            packed(folder / name / f"{split}.jsonl.gz", [{"comment": next(texts)} for _ in range(40)])
    header, rows = ["Name", "Height"], [["Place 1", "310 m"], ["Unknown place", "290 m"]]
    table = {"header": header, "rows": rows}
    others = [{"header": header, "rows": [[f"Tower {k}", f"{300 + k} m"] for k in range(9)]}]
    held = {"header": header, "rows": [["Place 6", "305 m"], ["Tower x", "301 m"]]}
    packed(folder / "tables" / "wikitables.jsonl.gz", [table | {"title": "Towers", "section_title": "Tall"}, held])
    packed(folder / "tables" / "wikitablequestions.jsonl.gz", others)
    packed(folder / "tabfact" / "tables.jsonl.gz", [held | {"caption": "Place 7"}])
    paragraphs = [{"text": " ".join(facts(3, seed=index))} for index in range(4)]
    context = {"table": {"table": [["", "2019"], ["Towers", "300"]]}, "paragraphs": paragraphs}
    (folder / "tatqa").mkdir()
    with gzip.open(folder / "tatqa" / "dev.json.gz", "wt", encoding="utf-8") as file:
        json.dump([context, context], file)
    return folder


@pytest.mark.parametrize(
    ("kind", "text", "wrong"),
    [
        ("x10", "It is 1,234.5 m long.", {"It is 12,345 m long."}),
        ("x0.1", "It is 45 m long.", {"It is 4.5 m long."}),
        ("x1000", "It is 1.5 m long.", {"It is 1500 m long."}),
        ("exchanged", "in 1987 people", {"in 9187 people", "in 1897 people", "in 1978 people"}),
        ("dropped", "about 120 people", {"about 20 people", "about 10 people", "about 12 people"}),
        ("doubled", "about 12 people", {"about 112 people", "about 122 people"}),
        ("percent", "It rose 15%.", {"It rose 0.15%."}),
        ("sign", "It rose 15%.", {"It rose -15%."}),
        ("separator", "about 1,500 people", {"about 1.500 people"}),
        ("unit", "It is 45 mi long.", {"It is 45 km long."}),
    ],
)
def test_slips_are_planted_as_people_make_them(kind: str, text: str, wrong: set[str]) -> None:
    planted = importlib.import_module("planted_slips").planted
    reader, found = numerate.reading.make_reader("standard"), set()
    for seed in range(40):
        made = planted(text, reader.find(text)[0], kind, reader, random.Random(seed))
        assert made is not None and made[1] is not None
        found.add(made[0])
    assert found == wrong
    for same, other in (
        ("exchanged", "11 people"),
        ("percent", "15 people"),
        ("unit", "15 people"),
        ("x10", "0 people"),
    ):
        assert planted(other, reader.find(other)[0], same, reader, random.Random(0)) is None


def test_a_model_that_knows_the_facts_finds_the_slips(data: Path, tmp_path: Path) -> None:
    slips = importlib.import_module("slips")
    new_backbone("bert").save_pretrained(tmp_path)
    tokenizer_of("bert").save_pretrained(tmp_path)
    blind = slips.DigitScores(str(tmp_path), "cpu")
    model = judging_model()
    numerate.calibrate(model, facts(300, seed=8))
    result = slips.detection(model, data, corpora=["units", "tatqa"], most=40, train=200, blind=blind)
    methods = result["units"]["methods"]
    assert methods["model"]["all"]["x10"]["auc"] > 0.97 and methods["word behind"]["all"]["x10"]["auc"] > 0.9
    others = {"model (bits)", "model (slip)", "model (tail)", "global histogram", "word behind", "number-blind"}
    # Rules find nothing in these texts that the model does not.
    assert methods["check"]["all"]["x10"]["auc"] >= methods["model"]["all"]["x10"]["auc"]
    assert set(methods) == {"model", "check", *others} and 0 < methods["number-blind"]["all"]["x10"]["auc"] < 1
    # All sub-words of the number are masked: against the sum of their log-probabilities, one by one.
    numeral = numerate.find("It is 4500 m.")[0]
    words, ids = blind.words, blind.words("It is 4500 m.", return_tensors="pt")["input_ids"]
    digits = blind.words("It is 4500 m.").char_to_token(6), blind.words("It is 4500 m.").char_to_token(9)
    masked = ids.clone()
    masked[0, digits[0] : digits[1] + 1] = words.mask_token_id
    logs = blind.model(input_ids=masked).logits[0].detach().double().log_softmax(-1)
    expected = -sum(float(logs[at, ids[0, at]]) for at in range(digits[0], digits[1] + 1)) / np.log(2)
    assert blind(["It is 4500 m."], [numeral])[0] == pytest.approx(expected, rel=1e-6)
    assert result["units"]["false_alarms"]["0.05"] <= 0.25 and result["tatqa"]["texts"] == 13
    slips.print_tables(result)
    right, wrong = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0])
    assert slips.auc(right, wrong) == pytest.approx((1.5 + 3) / 6)


def test_scores_of_check_know_what_rules_find_and_what_is_never_doubted() -> None:
    slips = importlib.import_module("slips")
    text = "The lake is 28 km (17 mi) long, and the town has 900 people."
    numeral = numerate.find(text)[0]
    wrong = {"x10": (text.replace("28", "280"), numerate.find(text.replace("28", "280"))[0])}
    cases = [slips.Case(text, numeral, wrong), slips.Case(text, numerate.find(text)[2], {})]
    right, found = slips.with_rules(cases, np.zeros(2), {"x10": np.array([0.0, np.nan])})
    scores = importlib.import_module("slip_scores")
    assert right.tolist() == [scores.MISSED, 0]  # 28 km are confirmed by 17 mi, the people by nobody
    assert found["x10"][0] == scores.CERTAIN and np.isnan(found["x10"][1])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Prices rose 5.5% in {}.", "Prices rose 5.5 pct in {}."),
        ("A loss of $3.2 million in {}.", "A loss of 3.2 mln dlrs in {}."),
        ("It is 120 km long, seen in {}.", "It is 120 kms long, seen in {}."),
    ],
)
def test_units_are_spelled_otherwise_and_mean_the_same(text: str, wanted: str) -> None:
    respelled = importlib.import_module("mini_spellings").respelled
    reader = make_reader("standard")
    texts = [text.format(year) for year in range(1700, 2000)]
    found = [respelled(each, reader) for each in texts]
    assert wanted in {each.replace(str(year), "{}") for each, year in zip(found, range(1700, 2000), strict=True)}
    assert found == [respelled(each, reader) for each in texts]
    assert 0.2 < sum(one != other for one, other in zip(texts, found, strict=True)) / 300 < 0.45
    for one, other in zip(texts, found, strict=True):
        for before, after in zip(reader.find(one), reader.find(other), strict=True):
            assert after.value == pytest.approx(before.value, rel=1e-12)
            assert after.unit == before.unit


def test_masks_are_drawn_anew_in_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    training = importlib.import_module("mini_training")
    drawn = list(itertools.islice(training.batches(np.array([3, 4, 5, 6, 7]), 2, 0), 4))
    assert [epoch for epoch, _ in drawn] == [0, 0, 1, 1] and {len(rows) for _, rows in drawn} == {2}
    model = numerate.attach(
        new_backbone("bert"), tokenizer_of("bert"), "subwords", objective={"kind": "masked", "what": "words"}
    )
    encoded = model.processor("The tower is tall and old.", return_tensors="pt")
    batch = {key: encoded[key] for key in ("input_ids", "attention_mask")} | {"sample_id": torch.tensor([7])}
    seen: list[list[int]] = []
    prepare = model.objective.prepare

    def shown(*given: Any) -> Any:
        task = prepare(*given)
        seen.append(task.labels[0].tolist())
        return task

    monkeypatch.setattr(model.objective, "prepare", shown)
    epochs = [0, 0, *range(1, 9)]
    training.run(model, ((epoch, batch) for epoch in epochs), rate=1e-9, steps=len(epochs), minutes=1)
    assert seen[0] == seen[1] and any(each != seen[0] for each in seen[2:])


def test_number_losses_weigh_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    training = importlib.import_module("mini_training")
    model = numerate.attach(
        new_backbone("bert"), tokenizer_of("bert"), objective={"kind": "masked", "number_ratio": 0.9}
    )
    encoded = model.processor("It is 310 m tall and 12 m wide.", return_tensors="pt")
    batch = dict(encoded) | {"sample_id": torch.tensor([7])}
    seen: list[float] = []
    gradients = training._gradients

    def shown(*given: Any) -> Any:
        seen.append(float(model.objective.combine(None, torch.tensor(1.0))))
        return gradients(*given)

    monkeypatch.setattr(training, "_gradients", shown)
    training.run(model, ((0, batch) for _ in range(5)), rate=1e-9, steps=4, minutes=9, number_weight=(1.0, 0.0625))
    assert seen == pytest.approx([1.0, 0.5, 0.25, 0.125], rel=1e-2)
    tokens, numbers = torch.tensor(3.0), torch.tensor(2.0)
    assert float(model.objective.combine(tokens, numbers, False)) == 5.0  # in evaluation both count
    assert model.objective.combine(tokens, None) == 3.0


def test_a_training_keeps_to_the_pace_of_another_one(tmp_path: Path) -> None:
    training = importlib.import_module("mini_training")
    leader = training.Pace(tmp_path / "leader.pace")
    follower = training.Pace(other=tmp_path / "leader.pace", most_seconds=0.2)
    assert leader.at(0, 0.0) == 0.0
    assert follower.at(99, 0.9) == 0.0  # the leader's progress, not its own
    assert leader.at(100, 0.5) == 0.5 and follower.at(100, 0.9) == 0.5
    leader.at(150, 1.0)
    assert follower.at(200, 0.9) == 1.0
    silent = training.Pace(other=tmp_path / "nobody.pace", most_seconds=0.05)
    assert silent.at(0, 0.3) == 0.3  # goes on by itself


@pytest.mark.slow
def test_the_whole_chain_makes_a_model(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mini, corpus = importlib.import_module("mini_model"), importlib.import_module("mini_corpus")
    monkeypatch.setattr(mini, "base_model", lambda wheel, layers: (new_backbone("bert"), tokenizer_of("bert")))
    folder, output = tmp_path / "build", tmp_path / "numerate-mini"
    mini.main(["all", "--tiny", f"--folder={folder}", f"--data={data}", f"--output={output}"])
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    # Tables with a held-out passage are left out, by a cell or by their title.
    assert meta["texts"]["tables"] == 2 + 9 and "left_out_steps" in (folder / "numbers.json").read_text("utf-8")
    assert len(list(corpus.table_rows(data, corpus.held_out_titles(data), "rows"))) == 3
    names = {path.name for path in output.iterdir()}
    assert {"README.md", "NOTICE", "LICENSE.Apache-2.0", "calibration.json", "figures.json", "backbone"} <= names
    figures = json.loads((output / "figures.json").read_text("utf-8"))["figures"]
    assert {"bfloat16", "8 bits", "twin", "detection", "worse in 8 bits", "bytes"} <= figures.keys()
    model = numerate.from_pretrained(output)
    assert model.calibration is not None and model.max_tokens == 128
    assert str(tmp_path) not in "".join(path.read_text("utf-8") for path in output.glob("*.json"))
    assert model.predict("The tower is [NUM] metres tall.").median().isfinite().all()
    assert "| units | x10 |" in (output / "README.md").read_text("utf-8") and "MiB" in capsys.readouterr().out
    # Rare kinds again, without the folder of the training; what was measured is kept.
    weights = (output / "number_model.safetensors").read_bytes()
    mini.main(["refit", "--tiny", f"--folder={tmp_path / 'again'}", f"--data={data}", f"--output={output}"])
    again = json.loads((output / "figures.json").read_text("utf-8"))["figures"]
    assert again["calibrated on"].endswith("; rare kinds to up to 60 numbers each of all dev sentences")
    assert again["intervals"]["money"]["numbers"] > 5 and again["8 bits"]["numbers"] == figures["8 bits"]["numbers"]
    assert sum(low <= each["share"] <= high for each in again["intervals"].values() for low, high in [each["interval"]])
    assert again["false alarms"].keys() == figures["false alarms"].keys() and "coverage_90" not in again["bfloat16"]
    assert weights == (output / "number_model.safetensors").read_bytes()
    assert "By kind, of any test sentences" in (output / "README.md").read_text("utf-8")
    kept = {path.name for path in (tmp_path / "again" / "refit").iterdir()}
    assert {"calibration.json", "intervals.json", "coverage-3.json", "alarms-market.json"} <= kept
    capsys.readouterr()
    folders = [f"--folder={folder}", f"--finished={output}", f"--data={data}"]
    importlib.import_module("mini_trials").main([*folders, "--names", "numbers", "twin", "--most=20"])
    rows = {line.split("|")[1].strip(): line for line in capsys.readouterr().out.splitlines() if line.startswith("|")}
    assert rows.keys() >= {"finished", "numbers", "twin"}
    assert rows["twin"].count("0.") == 1 < rows["numbers"].count("0.")
    other = ["--name=mog", "--head=mog", "--without-tables", f"--output={tmp_path / 'sent'}"]
    mini.main(["train", "--tiny", f"--folder={folder}", *other])
    described = json.loads((tmp_path / "sent" / "mog.json").read_text("utf-8"))
    assert (described["head"], described["without_tables"], described["number_rate"]) == ("mog", True, 1e-3)


def test_arrays_are_what_the_processor_gives(data: Path, tmp_path: Path) -> None:
    corpus, training = importlib.import_module("mini_corpus"), importlib.import_module("mini_training")
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place")
    texts = [*facts(5, seed=9), "It rose 3.2% to $1.5 million.", "Nobody asked why."]
    paths = corpus.write_shards(tmp_path, corpus.encode(model.processor, [texts]))
    words: Any = model.processor.tokenizer
    ids = (words.cls_token_id, words.sep_token_id, words.pad_token_id)
    batch = training.Texts(corpus.read_shards(tmp_path), "cpu", ids).numbers(np.arange(len(texts)))
    expected = model.processor(texts, padding=True, return_tensors="pt")
    assert len(paths) == 1
    length = expected["input_ids"].shape[1]
    for name in ("input_ids", "attention_mask", "number_slots", "number_scale"):
        assert batch[name][:, :length].tolist() == expected[name].tolist(), name
    for name in ("number_bits", "number_precision", "number_given"):
        assert batch[name].tolist() == expected[name].tolist(), name


def test_speed_is_measured_at_equal_shapes(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    speed = importlib.import_module("judging_speed")
    judging_model().save_pretrained(tmp_path, bits=8)
    speed.main([f"--model={tmp_path}", f"--data={data}", "--texts=12", "--rounds=1"])
    printed = capsys.readouterr().out
    assert "12 sentences, 12 numbers" in printed and "bar 0.8" in printed
