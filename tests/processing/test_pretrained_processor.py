"""A `NumberProcessor` has what Hugging Face tools ask of a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tiny_models import NUMBERS, tokenizer_of

from numerate.config import ConfigError
from numerate.processing.processor import NumberProcessor

if TYPE_CHECKING:
    from pathlib import Path

CHAT = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"


def processor_of(name: str, **options: object) -> NumberProcessor:
    return NumberProcessor(tokenizer_of(name), **options)  # type: ignore[arg-type]


def test_special_tokens_and_sizes_are_the_tokenizers() -> None:
    processor, tokenizer = processor_of("bert"), tokenizer_of("bert")
    for name in ("pad_token_id", "pad_token", "mask_token", "mask_token_id", "padding_side", "model_max_length",
                 "cls_token", "eos_token_id", "all_special_ids", "vocab_size"):  # fmt: skip
        assert getattr(processor, name) == getattr(tokenizer, name), name
    assert processor.model_input_names[:1] == ["input_ids"] and "number_slots" in processor.model_input_names
    assert len(processor) == processor.first_id + len(processor.own_tokens)


def test_padding_side_can_be_set() -> None:
    processor = processor_of("gpt2")
    try:
        processor.padding_side = "left"
        batch = processor(NUMBERS, padding=True, return_tensors="pt")
        assert processor.tokenizer.padding_side == "left" and not batch["attention_mask"][1, 0]
    finally:
        processor.padding_side = "right"


def test_repr_is_one_line_that_names_the_parts() -> None:
    said = repr(processor_of("bert", notation="marker"))
    assert said.startswith("NumberProcessor(reader=StandardReader, notation='marker'") and "\n" not in said


def test_saved_and_loaded_it_makes_the_same_batches(tmp_path: Path) -> None:
    processor = processor_of("bert", reader="luna", notation="digits", kinds=["quantity", "year"])
    files = processor.save_pretrained(tmp_path)
    assert {"number_processor.json", "tokenizer.json"} <= {file.rsplit("/", 1)[1] for file in files}
    again = NumberProcessor.from_pretrained(tmp_path)
    assert again.config() == processor.config() and again.first_id == processor.first_id
    ours, loaded = processor(NUMBERS), again(NUMBERS)
    assert ours["input_ids"] == loaded["input_ids"] and ours["number_slots"] == loaded["number_slots"]
    assert all(np.array_equal(a, b) for a, b in zip(ours["number_bits"], loaded["number_bits"], strict=True))


@pytest.mark.parametrize(
    "content", [None, "{", '{"processor": {}, "first_id": "x"}', '{"processor": 3, "first_id": 400}']
)
def test_a_wrong_folder_is_one_line(tmp_path: Path, content: str | None) -> None:
    processor_of("bert").save_pretrained(tmp_path)
    (tmp_path / "number_processor.json").unlink()
    if content is not None:
        (tmp_path / "number_processor.json").write_text(content)
    with pytest.raises(ConfigError) as caught:
        NumberProcessor.from_pretrained(tmp_path)
    assert "number_processor.json" in str(caught.value) and "\n" not in str(caught.value)


def test_chat_template_gives_the_number_table() -> None:
    processor = processor_of("gpt2")
    messages = [{"role": "user", "content": "It weighs 4.5 kg."}]
    text = processor.apply_chat_template(messages, chat_template=CHAT, tokenize=False)
    assert text == "user: It weighs 4.5 kg.\n"
    batch = processor.apply_chat_template([messages, messages], chat_template=CHAT, return_tensors="pt", padding=True)
    assert batch["number_bits"].view(torch.float64).tolist() == [[4.5], [4.5]]
    single = processor.apply_chat_template(messages, chat_template=CHAT)
    assert single["input_ids"] == batch["input_ids"][0].tolist()


def test_own_tokens_have_names_and_ids() -> None:
    processor = processor_of("bert")
    assert processor.convert_ids_to_tokens([processor.num_id, 0]) == ["[NUM]", "[PAD]"]
    assert processor.convert_tokens_to_ids(["[NUM]", "[PAD]"]) == [processor.num_id, 0]
    assert processor.get_vocab()["[NUM]"] == processor.num_id
    assert processor.encode("It weighs 5 kg.") == processor("It weighs 5 kg.")["input_ids"]


def test_pad_takes_a_length() -> None:
    processor = processor_of("bert")
    rows = [processor(text) for text in NUMBERS]
    assert processor.pad(rows, padding="max_length", max_length=90)["input_ids"].shape == (3, 90)
    assert "labels" not in processor.pad(rows, return_tensors="pt")


def test_push_without_a_network_is_one_line() -> None:
    with pytest.raises(ConfigError, match="'me/processor' cannot be uploaded: ") as caught:
        processor_of("bert").push_to_hub("me/processor")
    assert "\n" not in str(caught.value)
