"""Encoded texts on the disk: the same rows as the processor's, and damage is found."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tiny_models import ASKING, NUMBERS, PLAIN, new_backbone, tokenizer_of
from training_runs import Interrupt, are_equal, arguments, state_of

import numerate
from numerate.processing.encoding import NumberCollator
from numerate.processing.processor import NumberProcessor
from numerate.training.build import RunTrainer
from numerate.training.checkpoints import damage
from numerate.training.shards import Shards, ShardsError, fingerprint, write_shards

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [*NUMBERS, *PLAIN, *ASKING, "7 up", "no", "-1.5e300 and 1,234,567.25%"]


def processor_of(recipe: str, name: str = "bert") -> NumberProcessor:
    plan = numerate.load_recipe(recipe)
    config = {
        "reader": {"kind": plan.reader, **(plan.reader_options or {})}, "notation": dict(plan.notation),
        "kinds": plan.kinds, "written": plan.written,
    }  # fmt: skip
    return NumberProcessor.from_config(tokenizer_of(name), config)


def assert_same(row: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert row.keys() == wanted.keys() | {"sample_id"}
    for key, value in wanted.items():
        assert np.array_equal(row[key], np.asarray(value)) and row[key].shape == np.asarray(value).shape, key
        if isinstance(value, np.ndarray):
            assert row[key].dtype == value.dtype, key


@pytest.mark.parametrize("recipe", numerate.recipe_names())
def test_rows_equal_those_of_the_processor(tmp_path: Path, recipe: str) -> None:
    for name, options in (("bert", {}), ("gpt2", {}), ("bert", {"max_length": 9, "truncation": True})):
        processor = processor_of(recipe, name)
        folder = tmp_path / f"{name}{len(options)}"
        shards = write_shards(folder, TEXTS, processor, max_tokens=options.get("max_length"), shard_tokens=50)
        assert len(shards) == len(TEXTS) and len(shards.meta["shards"]) > 1
        for index, text in enumerate(TEXTS):
            assert_same(shards[index], dict(processor(text, **options)))
            assert shards[index]["sample_id"] == index
        assert shards.lengths.tolist() == [len(row["input_ids"]) for row in shards]
        assert shards.meta["tokens"] == sum(shards.lengths) and shards.meta["rows"] == len(TEXTS)
        assert shards.meta["numbers"] == sum(len(row["number_bits"]) for row in shards)


def test_batches_equal_those_of_the_processor(tmp_path: Path) -> None:
    processor = processor_of("luna")
    shards = write_shards(tmp_path / "s", TEXTS, processor)
    collate = NumberCollator(processor.tokenizer)
    batch = collate([shards[index] for index in range(len(TEXTS))])
    wanted = processor(TEXTS, padding=True, return_tensors="pt")
    for key, value in wanted.items():
        assert torch.equal(batch[key], value) and batch[key].dtype == value.dtype, key
    assert batch["sample_id"].tolist() == list(range(len(TEXTS)))


def test_pickles_are_small_and_rows_are_copies(tmp_path: Path) -> None:
    shards = write_shards(tmp_path / "s", TEXTS * 200, processor_of("luna"), shard_tokens=1000)
    row = shards[-1]
    assert len(pickle.dumps(shards)) < 100 + 60 * len(shards.meta["shards"]) + 3000
    again = pickle.loads(pickle.dumps(shards))
    assert np.array_equal(again[-1]["input_ids"], row["input_ids"])
    row["input_ids"][:] = 0
    assert shards[-1]["input_ids"].any(), "changes of a row do not reach the file"
    for index in (len(shards), -len(shards) - 1):
        with pytest.raises(IndexError):
            shards[index]
    with pytest.raises(ValueError, match="read-only"):
        shards._arrays(0)["ids"][0] = 1


def test_wide_vocabularies_and_rows_without_tokens(tmp_path: Path) -> None:
    processor = processor_of("xval", "gpt2")
    texts = ["", "It cost 5.", ""]
    shards = write_shards(tmp_path / "s", texts, processor)
    assert len(shards) == 1 and shards.meta["empty"] == 2
    assert shards._arrays(0)["ids"].dtype == np.uint16 and shards._arrays(0)["slots"].dtype == np.int8
    wide = NumberProcessor(tokenizer_of("gpt2"), "luna", "marker", first_id=1 << 17)
    shards = write_shards(tmp_path / "w", texts, wide)
    assert shards._arrays(0)["ids"].dtype == np.uint32
    assert_same(shards[0], dict(wide(texts[1])))
    with pytest.raises(ShardsError, match="no text has a token; 2 are empty"):
        write_shards(tmp_path / "n", ["", ""], processor)
    assert not (tmp_path / "n").exists()


def test_texts_are_streamed(tmp_path: Path) -> None:
    processor = processor_of("luna")
    written: list[int] = []

    def texts() -> Any:
        for index in range(2_000):
            if index % 500 == 0:
                written.append(len(list((tmp_path / ".saving-s").glob("shard-*"))))
            yield f"number {index} of 2000"

    write_shards(tmp_path / "s", texts(), processor, shard_tokens=1_000)
    assert written == sorted(written) and written[1] > 0, "shards are on the disk before all texts are read"


def test_damaged_folders_and_other_processors(tmp_path: Path) -> None:
    processor = processor_of("luna")
    folder = tmp_path / "s"
    write_shards(folder, TEXTS, processor)
    Shards(folder, processor, verify=True)
    assert damage(folder) is None
    with pytest.raises(ShardsError, match="encoded by another processor"):
        Shards(folder, processor_of("xval"))
    with pytest.raises(ShardsError, match="no shards"):
        Shards(tmp_path)
    file = folder / "shard-00000" / "ids.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    Shards(folder)
    with pytest.raises(ShardsError, match=r"shard-00000/ids\.npy was changed; delete the folder and prepare it again"):
        Shards(folder, verify=True)
    file.write_bytes(whole[:-1])
    with pytest.raises(ShardsError, match="bytes instead of"):
        Shards(folder)
    file.write_bytes(whole)
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | {"version": 9}))
    with pytest.raises(ShardsError, match="version 9 is newer"):
        Shards(folder)
    (folder / "meta.json").write_text("[]")
    with pytest.raises(ShardsError, match="no shards"):
        Shards(folder)


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    processor = processor_of("luna")
    with pytest.raises(ShardsError, match="contains files that are not shards"):
        write_shards(tmp_path, TEXTS, processor)

    def torn() -> Any:
        yield "one 1"
        raise KeyboardInterrupt

    first = write_shards(tmp_path / "s", ["5 of 7"], processor)
    with pytest.raises(KeyboardInterrupt):
        write_shards(tmp_path / "s", torn(), processor)
    assert Shards(tmp_path / "s").meta == first.meta, "an error keeps the existing shards"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt", "s"]


def test_the_fingerprint_depends_on_the_processor() -> None:
    processor = processor_of("luna")
    before = fingerprint(processor)
    processor.tokenizer(["a", "b c"], padding=True, truncation=True, max_length=3)
    assert fingerprint(processor) == before == fingerprint(processor_of("luna")), "how it was last called is no part"
    others = [processor_of("luna-replace"), processor_of("luna", "roberta"), processor_of("in-place")]
    assert len({before, *map(fingerprint, others)}) == 4


def test_batches_of_similar_length(tmp_path: Path) -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna")
    shards = write_shards(tmp_path / "s", [f"{'word ' * (i % 7)}{i}" for i in range(400)], model.processor)
    settings = arguments(
        tmp_path / "o", train_sampling_strategy="group_by_length", per_device_train_batch_size=10, max_steps=2
    )
    trainer = RunTrainer(model, settings, train_dataset=shards, eval_dataset=shards)
    torch.manual_seed(0)
    order = list(trainer._get_train_sampler())
    assert sorted(order) == list(range(400))
    spread = [np.ptp(shards.lengths[order[start : start + 10]]) for start in range(0, 400, 10)]
    assert np.mean(spread) < 0.4 * np.ptp(shards.lengths), "drawn at random, it would be about 0.9 of it"
    assert trainer.train().metrics["train_loss"] > 0
    assert list(trainer._get_eval_sampler(shards)) and trainer._get_train_sampler([{"input_ids": [1]}]) is not None


def test_resumed_runs_by_length_keep_the_order(tmp_path: Path) -> None:
    texts = [f"{'word ' * (i % 7)}{i}" for i in range(40)]

    def trainer_in(folder: str, *callbacks: Any) -> RunTrainer:
        torch.manual_seed(0)
        model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place")
        settings = arguments(
            tmp_path / folder, train_sampling_strategy="group_by_length", max_steps=14, save_strategy="steps",
            save_steps=3, save_total_limit=1,
        )  # fmt: skip
        shards = write_shards(tmp_path / "shards", texts, model.processor)
        return RunTrainer(model, settings, train_dataset=shards, callbacks=callbacks)

    whole = trainer_in("whole")
    whole.train()
    with pytest.raises(KeyboardInterrupt):  # in the second epoch: the first has the order of the seed anyway
        trainer_in("cut", Interrupt(13)).train()
    again = trainer_in("cut")
    again.train(resume_from_checkpoint=True)
    assert are_equal(state_of(whole), state_of(again))

    orders = []
    for drawn in (0, 3):  # processes draw other masks, and must have the same order
        torch.manual_seed(0)
        torch.rand(drawn)
        orders.append(list(whole._get_train_sampler()))
    assert orders[0] == orders[1]


def test_a_flipped_bit_is_found_when_the_shard_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    good = write_shards(folder, TEXTS, processor_of("luna"), shard_tokens=40)
    assert len(good.meta["shards"]) > 2
    last = f"shard-{len(good.meta['shards']) - 1:05d}"
    for file in sorted((folder / last).glob("*.npy")):
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        rows = pickle.loads(pickle.dumps(Shards(folder)))  # as in a worker process
        rows[0]
        for _ in range(2):  # the second time, too
            with pytest.raises(ShardsError, match=rf"damaged: {last}/{file.name} was changed; delete the folder and"):
                rows[len(rows) - 1]
        with pytest.raises(ShardsError, match="was changed"):
            _ = rows.lengths
        file.write_bytes(content)
    assert Shards(folder)[len(good) - 1].keys() == good[0].keys()
    (folder / last / "types.npy").write_bytes(b"not in the manifest")
    assert_same(Shards(folder)[len(good) - 1], {k: v for k, v in good[len(good) - 1].items() if k != "sample_id"})
    meta = (folder / "meta.json").read_text()
    (folder / "meta.json").write_text(meta.replace('"rows": 11', '"rows": 10'))
    with pytest.raises(ShardsError, match=r"meta\.json was changed"):
        Shards(folder)
