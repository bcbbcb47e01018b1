"""The processor with tokenizers of every family: ids, slots, offsets, truncation, padding, decoding, config."""

from __future__ import annotations

import json
import pickle
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tokenizer_families as families
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from numerate.config import ConfigError
from numerate.errors import BadInput
from numerate.processing.number_table import ASKED, GIVEN, PADDING, given_value
from numerate.processing.processor import NumberBatch, NumberProcessor
from numerate.processing.rewriter import mark
from numerate.processing.scaling import Scaling
from numerate.reading import make_reader
from numerate.registry import notations

if TYPE_CHECKING:
    from numerate.numerals.numeral import Numeral


NOTATIONS = {
    "keep": {}, "keep-slot": {"slot": True}, "marker": {}, "addback": {}, "prefix": {}, "drop": {}, "digits": {},
    "p10": {}, "fp15": {}, "scientific": {}, "words": {"slot": True},
}  # fmt: skip
FIRST_ID = 5000

pieces = st.sampled_from(
    [
        *"abcXYZ",
        " ",
        "  ",
        "\n",
        ", ",
        ".",
        "(",
        ")",
        "-",
        "$",
        "the ",
        " metres",
        "é",
        "日本",
        "½x",
        "\u3000",
        "[",
        "]",
    ]
)
numbers = st.sampled_from(
    ["5", " 330", "3.2%", "-7", "1,234.5", "(1,234)", "$1.5 billion", "2023", "10-12", "1e-5", "0", "00", "1/2", "٣"]
)
literals = st.sampled_from(["[NUM]", "[MASK]", "</s>", "<s>", "[SEP]", mark(0), "\U000f0000", "[NUM]5", "7[NUM]"])
wordy = st.lists(pieces, max_size=12).map("".join)
mixed = st.lists(st.one_of(pieces, numbers, numbers), max_size=14).map("".join)
hostile = st.lists(st.one_of(pieces, numbers, literals), max_size=14).map("".join)


@cache
def processor(family: str, notation: str = "marker", reader: str = "standard", commas: bool = False) -> NumberProcessor:
    options = NOTATIONS[notation]
    built = notations[notation.removesuffix("-slot")].build(**options)
    first_id = FIRST_ID if len(families.make_tokenizer(family)) < FIRST_ID else None
    return NumberProcessor(families.make_tokenizer(family), reader, built, first_id=first_id, implied_commas=commas)


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda array: array.tolist()))


@pytest.mark.parametrize("family", families.FAMILIES)
@given(
    text=st.one_of(wordy, st.lists(st.one_of(pieces, literals), max_size=10).map("".join)),
    notation=st.sampled_from(list(NOTATIONS)),
)
@settings(max_examples=150)
def test_text_without_numbers_has_the_bare_tokenizers_ids(family: str, text: str, notation: str) -> None:
    text = text.replace("[NUM]", "").replace(mark(0), "")
    if make_reader("standard").find(text):
        return
    ours, bare = processor(family, notation), families.make_tokenizer(family)
    expected = bare(text)
    found = ours(text)
    assert found["input_ids"] == expected["input_ids"]
    assert {key: found[key] for key in expected} == dict(expected)
    assert not any(found["number_slots"]) and len(found["number_bits"]) == 0
    mapped = ours(text, return_offsets_mapping=True)
    assert mapped["input_ids"] == expected["input_ids"]
    if family not in (
        "bpe-prefix",
        "unigram",
        "llama",
    ):  # offsets of an added space differ there
        assert mapped["offset_mapping"] == bare(text, return_offsets_mapping=True)["offset_mapping"]


OPTIONS = [
    {},
    {"padding": True},
    {"padding": True, "padding_side": "left", "pad_to_multiple_of": 8},
    {"padding": "max_length", "max_length": 20, "truncation": True},
    {"truncation": True, "max_length": 9},
    {"max_length": 7},
    {"padding": "max_length", "truncation": "only_first"},
    {"add_special_tokens": False, "padding": "longest", "truncation": True, "max_length": 6},
    {"return_token_type_ids": True, "return_attention_mask": False, "return_special_tokens_mask": True},
    {"padding": "max_length", "max_length": 6},
]


@pytest.mark.parametrize("family", families.FAMILIES)
@given(
    texts=st.lists(hostile, min_size=1, max_size=4),
    options=st.sampled_from(OPTIONS),
    notation=st.sampled_from([name for name in NOTATIONS if not NOTATIONS[name]]),
    commas=st.booleans(),
    reader=st.sampled_from(["standard", "records", "luna"]),
)
@settings(max_examples=100)
def test_sections_and_whole_texts_give_the_same(
    family: str, texts: list[str], options: dict[str, Any], notation: str, commas: bool, reader: str
) -> None:
    ours = processor(family, notation, reader, commas)
    quick = ours(texts, **options)
    whole = ours(texts, return_offsets_mapping=True, **options)
    del whole["offset_mapping"]
    assert plain(dict(quick)) == plain(dict(whole))
    assert quick.numerals == whole.numerals


@pytest.mark.parametrize("family", families.REVERSIBLE)
@given(text=mixed, notation=st.sampled_from(["keep", "keep-slot", "marker", "addback", "prefix"]))
@settings(max_examples=150)
def test_decode_restores_the_text_if_the_bare_tokenizer_does(family: str, text: str, notation: str) -> None:
    bare, ours = families.make_tokenizer(family), processor(family, notation)
    if bare.decode(bare(text)["input_ids"], skip_special_tokens=True) != text:
        return
    batch = ours(text)
    assert ours.decode(batch["input_ids"], batch.numerals[0], skip_special_tokens=True) == text


def test_decode_with_wordpiece() -> None:
    ours = processor("wordpiece")
    batch = ours(["it is 3.2% (of 10,100) [NUM] tall."])
    text = ours.decode(batch["input_ids"][0], batch.numerals[0], skip_special_tokens=True)
    assert text == "it is 3.2% ( of 10,100 ) [NUM] tall."
    assert ours.decode(batch["input_ids"][0], skip_special_tokens=True).count("[NUM]") == 3
    assert ours.batch_decode(batch["input_ids"], batch.numerals)[0].startswith("[CLS] it is 3.2%")
    for notation in ("addback", "prefix"):
        ours = processor("wordpiece", notation)
        batch = ours("it is 330 tall [NUM] .")
        assert ours.decode(batch["input_ids"], batch.numerals[0], skip_special_tokens=True) == "it is 330 tall [NUM]."


@pytest.mark.parametrize("notation", ["digits", "scientific"])
def test_decode_reads_numbers_written_in_tokens(notation: str) -> None:
    ours = processor("bpe", notation)
    batch = ours("It is 330 and -7, [NUM].")
    assert ours.decode(batch["input_ids"], batch.numerals[0]) == "It is 330 and -7, [NUM]."
    assert batch.numerals == [[None]]


@pytest.mark.parametrize("family", families.FAMILIES)
@given(
    notation=st.sampled_from(["keep-slot", "marker", "addback", "prefix", "words"]),
    texts=st.lists(hostile, min_size=1, max_size=3),
    side=st.sampled_from(["left", "right"]),
    length=st.integers(4, 24),
)
@settings(max_examples=100)
def test_slots_match_the_number_table(family: str, notation: str, texts: list[str], side: str, length: int) -> None:
    ours = processor(family, notation)
    before = ours.tokenizer.truncation_side, ours.tokenizer.padding_side
    ours.tokenizer.truncation_side = ours.tokenizer.padding_side = side
    try:
        batch = ours(texts, truncation=True, max_length=length, padding=True, return_offsets_mapping=True)
        assert ours(texts, truncation=True, max_length=length, padding=True)["input_ids"] == batch["input_ids"]
    finally:
        ours.tokenizer.truncation_side, ours.tokenizer.padding_side = before
    for row, text in enumerate(texts):
        slots, numerals = batch["number_slots"][row], batch.numerals[row]
        assert len(batch["input_ids"][row]) <= length
        beside = {-slot for slot in slots if slot < 0}
        assert beside <= {slot for slot in slots if slot > 0}
        if notation not in ("addback", "prefix"):  # a space, or a percent sign with the text behind it
            written = [ids for ids, slot in zip(batch["input_ids"][row], slots, strict=True) if slot < 0]
            space, scales = ours._rewriter.space, batch.get("number_scale", [[0] * len(slots)] * len(texts))[row]
            assert len(written) <= written.count(space) + sum(scale & 1 for scale in scales)
        assert sorted({slot for slot in slots if slot > 0}) == list(range(1, len(numerals) + 1))
        assert [abs(slot) for slot in slots if slot] == sorted(abs(slot) for slot in slots if slot)
        for slot, (begin, end) in zip(slots, batch["offset_mapping"][row], strict=True):
            if slot:
                numeral = numerals[abs(slot) - 1]
                if numeral is None:
                    assert text[begin:end].strip() == "[NUM]"
                else:
                    assert begin < numeral.end and (end > numeral.start or slot < 0)
                    whole = slot > 0 and notation not in ("keep-slot", "words")
                    assert not whole or numeral.start <= begin <= end <= numeral.end
        given = batch["number_given"][row].tolist()
        assert given[: len(numerals)] == [ASKED if numeral is None else GIVEN for numeral in numerals]
        assert set(given[len(numerals) :]) <= {PADDING}
        values = batch["number_bits"][row].view(np.float64)[: len(numerals)]
        assert all(n is None or v == given_value(n) for n, v in zip(numerals, values, strict=True))


@pytest.mark.parametrize("notation", ["keep-slot", "marker"])
@pytest.mark.parametrize("family", families.FAMILIES)
def test_pairs_words_and_empty_texts(family: str, notation: str) -> None:
    ours, bare = processor(family, notation), families.make_tokenizer(family)
    pair = ours("the tower is 330", "it was 7 in 2022", return_offsets_mapping=True)
    assert max(pair["number_slots"]) == 3 and [n.value for n in pair.numerals[0]] == [330.0, 7.0, 2022.0]  # type: ignore[union-attr]
    assert pair.keys() >= bare("a", "b").keys()
    assert ours(["a", "b"], ["c", "d"])["input_ids"] == bare(["a", "b"], ["c", "d"])["input_ids"]
    assert ours("a", "")["input_ids"] == bare("a", "")["input_ids"]
    words = ours(["it", "was", "330", "(2022)"], is_split_into_words=True)
    assert max(words["number_slots"]) == 2
    if family != "bpe":
        assert (
            ours([["it", "was"], ["a"]], is_split_into_words=True)["input_ids"]
            == (bare([["it", "was"], ["a"]], is_split_into_words=True)["input_ids"])
        )
    assert ours("")["input_ids"] == bare("")["input_ids"]
    empty = ours([], return_tensors="pt")
    assert empty["input_ids"].shape == (0, 0) and empty["number_bits"].shape == (0, 0) and empty.numerals == []
    assert ours([])["input_ids"] == []


@pytest.mark.parametrize("kind", ["pt", "np"])
@pytest.mark.parametrize("texts", [["no numbers", "none"], ["7 and 8", "x"], ["[NUM]"], "7", [""]])
def test_shapes_and_types(texts: list[str] | str, kind: str) -> None:
    for notation in ("keep-slot", "marker", "p10"):
        check_shapes_and_types(texts, kind, notation)


def check_shapes_and_types(texts: list[str] | str, kind: str, notation: str) -> None:
    batch = processor("wordpiece", notation)(texts, padding=True, return_tensors=kind)
    rows, length = batch["input_ids"].shape
    most = batch["number_bits"].shape[1]
    expected = {
        "input_ids": ((rows, length), "int64"), "number_slots": ((rows, length), "int64"),
        "attention_mask": ((rows, length), "int64"), "number_bits": ((rows, most), "int64"),
        "number_precision": ((rows, most), "int16"), "number_given": ((rows, most), "uint8"),
    }  # fmt: skip
    for key, (shape, dtype) in expected.items():
        assert tuple(batch[key].shape) == shape and str(batch[key].dtype).removeprefix("torch.") == dtype
    chars = batch["number_chars"]
    assert tuple(chars.shape[:2]) == (rows, most) and chars.shape[2] >= 1 and str(chars.dtype).endswith("uint8")
    assert isinstance(batch["number_bits"], torch.Tensor if kind == "pt" else np.ndarray)


def test_lists_have_rows_of_different_lengths_unless_padded() -> None:
    ours = processor("wordpiece")
    assert [len(row) for row in ours(["7 and 8", "x"])["number_bits"]] == [2, 0]
    assert [len(row) for row in ours(["7 and 8", "x"], padding=True)["number_bits"]] == [2, 2]
    with pytest.raises(ValueError, match="differ in length"):
        ours(["7 and 8", "x"], return_tensors="pt")


def test_targets_become_labels_with_a_table_of_their_own() -> None:
    ours = processor("unigram")
    batch = ours(["the tower is 330"], text_target=["it was 7 [NUM]"], padding=True, return_tensors="pt")
    assert batch["labels"].shape == batch["decoder_number_slots"].shape
    assert batch["labels"].tolist() == ours(["it was 7 [NUM]"])["input_ids"]
    assert batch["decoder_number_given"].tolist() == [[GIVEN, ASKED]] and batch["number_given"].tolist() == [[GIVEN]]


def test_a_text_with_many_numbers() -> None:
    ours = processor("bpe")
    batch = ours("7 " * 20_000)
    assert max(batch["number_slots"]) == 20_000 == len(batch["number_bits"])


def test_later_settings_of_the_tokenizer_are_used_and_it_is_not_changed() -> None:
    tokenizer = families._byte_level(False)
    end, tokenizer.pad_token, tokenizer.eos_token = tokenizer.eos_token, None, None
    before = tokenizer.backend_tokenizer.to_str(), len(tokenizer)
    ours = NumberProcessor(tokenizer)
    with pytest.raises(ValueError, match="padding token"):
        ours(["7", "8 9"], padding=True)
    tokenizer.eos_token = end
    batch = ours(["7", "8 9 and more"], padding=True)
    assert batch["input_ids"][0][0] == tokenizer.eos_token_id and batch["attention_mask"][0][0] == 0  # on the left
    assert tokenizer.pad_token is None
    tokenizer.pad_token, tokenizer.padding_side = "<s>", "right"
    assert ours(["7", "8 9"], padding=True)["input_ids"][0][-1] == tokenizer.pad_token_id
    assert (tokenizer.backend_tokenizer.to_str(), len(tokenizer)) == before
    tokenizer.add_tokens(["<new>"])
    with pytest.raises(ValueError, match="tokens were added"):
        ours("7")


def test_vocabularies_with_holes_keep_their_ids() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"a": 0, "b": 7, "?": 3}, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ours = NumberProcessor(PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?"))
    assert ours("a b 5")["input_ids"] == [0, 7, ours.num_id] and ours.num_id > 7


def test_ids_between_the_tokenizers_and_ours_are_ignored() -> None:
    ours = processor("bpe")
    inside = len(ours.tokenizer)
    assert inside < FIRST_ID
    assert ours.decode([inside, FIRST_ID, inside + 1]) == "[NUM]"
    with pytest.raises(ValueError, match="first_id"):
        NumberProcessor(ours.tokenizer, first_id=3)


def test_bad_arguments_are_refused() -> None:
    ours = processor("wordpiece")
    with pytest.raises(ValueError, match="return_tensors"):
        ours("7", return_tensors="tf")
    with pytest.raises(ValueError, match="overflowing"):
        ours("7", text_target="8", return_overflowing_tokens=True)
    with pytest.raises(TypeError, match="fast tokenizer"):
        NumberProcessor(object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown kinds"):
        NumberProcessor(ours.tokenizer, kinds=["qantity"])


def test_kinds_and_written() -> None:
    tokenizer = families.make_tokenizer("wordpiece")
    ours = NumberProcessor(tokenizer, kinds=["money"], written=True)
    batch = ours("$1.5 billion in 2023")
    assert batch["number_bits"].view(np.float64).tolist() == [1.5]
    luna = NumberProcessor(tokenizer, "luna", kinds=["percent"])
    batch = luna("7 of 3.2%")
    assert batch["number_bits"].view(np.float64).tolist() == [0.032] and batch["number_precision"].tolist() == [-3]
    assert [n.text for n in batch.numerals[0]] == ["3.2%"]  # type: ignore[union-attr]


@given(
    text=st.lists(
        st.sampled_from(["{", "}", "[", "]", ",", " ", "'a':", "7", "-1.50", "nan", "1e-5", "0x1F", "Infinity"])
    ).map("".join)
)
def test_bare_spans_agree_with_numerals(text: str) -> None:
    ours = processor("record", "marker", "records")
    batch = ours(text)
    numerals: list[Numeral] = batch.numerals[0]  # type: ignore[assignment]
    assert batch["number_precision"].tolist() == [n.precision for n in numerals]
    assert np.array_equal(batch["number_bits"].view(np.float64), [n.value for n in numerals], equal_nan=True)


def test_the_config_is_saved_as_json() -> None:
    tokenizer = families.make_tokenizer("wordpiece")
    scaling = Scaling(by="unit", scaler="log").fit(make_reader("standard").find("5 km, 7 kg, 9 km"))
    reader = make_reader("standard", words=True, locale="eu")
    ours = NumberProcessor(
        tokenizer, reader, notations["keep"].build(slot=True), kinds=["quantity"], scaling=scaling, implied_commas=True
    )
    config = json.loads(json.dumps(ours.config()))
    again = NumberProcessor.from_config(tokenizer, config, first_id=9999)
    assert again.config() == ours.config() and again.first_id == 9999
    assert again.reader.locale == "eu" and again.scaling == scaling  # type: ignore[attr-defined]
    text = ["zwei 5 km, twenty-one kg"]
    assert plain(dict(ours(text))) == plain(dict(again(text)))
    for change, match in (
        ({"redaer": {}}, "did you mean 'reader'"),
        ({"reader": {"kind": "standart"}}, "did you mean 'standard'"),
        ({"reader": {"kind": "standard", "wrods": True}}, "wrods"),
        ({"reader": {"kind": "standard", "locale": "xx"}}, "locale"),
        ({"reader": {"kind": "standard", "words": []}}, "unhashable|words"),
        ({"notation": {"kind": "keep", "slott": True}}, "did you mean 'slot'"),
        ({"notation": {"kind": "os.system"}}, "unknown notation"),
        ({"notation": {}}, "unknown notation"),
        ({"kinds": ["qantity"]}, "unknown kinds"),
        ({"scaling": {"kind": "scaling", "limt": 5}}, "scaling"),
        ({"version": 2}, "newer"),
    ):
        with pytest.raises(ConfigError, match=match):
            NumberProcessor.from_config(tokenizer, config | change)
    with pytest.raises(ConfigError, match="not registered"):
        NumberProcessor(tokenizer, type("Mine", (type(reader),), {})()).config()


def test_truncated_records_keep_the_right_numbers() -> None:
    ours = processor("record", "marker", "records")
    for side, values in (("right", [1.0, 2.0]), ("left", [4.0, 5.0])):
        ours.tokenizer.truncation_side = side
        batch = ours("[1, 2, 3, 4, 5]", truncation=True, max_length=4, add_special_tokens=False)
        assert batch["number_bits"].view(np.float64).tolist() == values
        assert [numeral.value for numeral in batch.numerals[0]] == values  # type: ignore[union-attr]
    ours.tokenizer.truncation_side = "right"


def test_batches_are_pickled_with_their_numerals() -> None:
    batch = processor("record", "marker", "records")(["[1, 2]"], return_tensors="pt")
    again = pickle.loads(pickle.dumps(batch))
    assert isinstance(again, NumberBatch) and again.numerals == batch.numerals
    assert torch.equal(again["number_bits"], batch["number_bits"])
    assert isinstance(batch.to("cpu"), NumberBatch)


@pytest.mark.shared("models/minilm-mlm")
def test_a_real_tokenizer(shared: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(shared / "models" / "minilm-mlm")
    texts = ["A text without any.", "Über [MASK] naïve cafés …", "", "a " * 600]
    for notation in ("marker", "keep", "addback"):
        ours = NumberProcessor(tokenizer, notation=notation)
        options = {"padding": True, "truncation": True}
        assert ours(texts, **options)["input_ids"] == tokenizer(texts, **options)["input_ids"]
    ours = NumberProcessor(tokenizer, notation=notations["keep"].build(slot=True))
    batch = ours(["It weighs 1,234.5 lbs."])
    assert tokenizer.convert_ids_to_tokens(batch["input_ids"][0])[3:8] == ["1", ",", "234", ".", "5"]
    assert batch["number_slots"][0][2:9] == [0, 1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("wrong", [None, 5, float("nan"), ["5 km"], b"5 km"])
def test_what_is_no_text_is_quoted(wrong: Any) -> None:
    processor = NumberProcessor(families.make_tokenizer("wordpiece"))
    with pytest.raises(TypeError, match=re.escape(f"texts that are strings, got {wrong!r} as text 1")):
        processor(["It weighs 45 kg.", wrong])
    with pytest.raises(TypeError, match=r"texts that are lists of words, got .* as text 0"):
        processor([[wrong]], is_split_into_words=True)


def test_the_benchmark_runs(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    path = tmp_path / "processing.json"
    script = Path(__file__).parents[2] / "benchmarks" / "processing.py"
    sizes = ["--passages=4", "--records=4", "--rounds=1", "--batch=2", f"--json={path}"]
    environment = {**os.environ, "NUMERATE_SHARED": str(tmp_path)}  # an empty folder: texts are generated
    done = subprocess.run([sys.executable, script, *sizes], env=environment, capture_output=True, text=True, check=True)
    rows = json.loads(path.read_text("utf-8"))["figures"]
    assert [row["bar"] for row in rows] == [None, 0.7, 0.7] * 2 + [2.0, 1.3] * 2
    assert all(row["ours"] in done.stdout for row in rows)


def test_half_a_character_is_named() -> None:
    """The tokenizer's own error says only that its input must be a text."""
    made = processor("wordpiece", "keep")
    for texts, words in ((["fine", "5 \ud800 km"], False), ([["fine"], ["5", "\ud800"]], True)):
        with pytest.raises(BadInput, match=r"text 1 has half of a character \(a lone surrogate\), '\\ud800'"):
            made(texts, is_split_into_words=words)
