"""A hidden number is one token, and the input that a text with a literal [NUM] gives."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import NUMBERS, TOKENIZERS, new_backbone, number_batch, tokenizer_of
from tokenizer_families import make_tokenizer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import numerate
from numerate.objectives.base import Vocabulary
from numerate.objectives.hiding import gather_rows, hide_numbers
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import ASKED, GIVEN, NumberTable
from numerate.processing.processor import NumberProcessor
from numerate.processing.static_shapes import Counts, fixed_counts
from numerate.registry import notations, objectives
from numerate.training.loss_normalisation import batch_counts

from .test_objectives import batch

TEXTS = (
    "The tower is 324 metres tall, cost $1.5 million and weighs 10,100 tons.",
    "Revenue rose 3.2% to 45.7 in 2023; it fell by 7 per cent (12%), or -7.25.",
    "It was 5 million and  1.5 billion, 12 %, and 300.",
    "Take 1½ cups of ٣٤ or 10⁶ at −１２３ m, 7‰ and ½.",  # characters of several tokens
)
TINY = ("bert", "roberta", "gpt2", "llama")
FAMILIES = ("wordpiece", "bpe", "bpe-prefix", "unigram", "metaspace-first", "llama-family")
MIXED = {"unigram", "metaspace-first", "llama-family"}
"""Tokenizers without a pre-tokenizer that separates digits: a token such as `$1.5` also writes other text."""
# A row padded on the right and one on the left; 20 to 22 write a number, 100 is its slot behind them.
ROWS = batch(
    [[2, 10, 20, 21, 22, 100, 11, 3, 0, 0], [0, 0, 2, 20, 100, 12, 21, 22, 100, 3]],
    [[0, 0, -1, -1, -1, 1, 0, 0, 0, 0], [0, 0, 0, -1, 1, 0, -2, -2, 2, 0]],
    [[5.5, 0.0], [6.0, 77.0]],
)
WORDS = Vocabulary(mask_id=4, num_id=100, special_ids=(0, 2, 3, 4), size=60, pad_id=0)
ALL = torch.tensor([[True, False], [True, True]])


@functools.cache
def joined_spaces() -> PreTrainedTokenizerFast:
    """A tokenizer like GPT-2's, with tokens of a space and each digit."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, show_progress=False, initial_alphabet=alphabet
    )
    inner.train_from_iterator([f"it is {i} m and -{i}% of {i}, ok" for i in range(1500)], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", mask_token="<mask>", bos_token="<s>", eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


@functools.cache
def tokenizer(name: str) -> PreTrainedTokenizerFast:
    if name == "joined":
        return joined_spaces()
    return TOKENIZERS[name]() if name in TINY else make_tokenizer(name.removesuffix("-family"))


def with_slots() -> list[str]:
    """Notations that have slots."""
    options = {name: {field.name for field in dataclasses.fields(notations[name].Config)} for name in notations}
    return [name for name in notations.names() if "slot" in options[name] or name in ("marker", "addback", "prefix")]


@functools.cache
def processor(family: str, notation: str) -> NumberProcessor:
    has_option = "slot" in {field.name for field in dataclasses.fields(notations[notation].Config)}
    return NumberProcessor(
        tokenizer(family), "standard", notations[notation].build(**({"slot": True} if has_option else {}))
    )


def words_of(ours: NumberProcessor) -> Vocabulary:
    words: Any = ours.tokenizer
    return Vocabulary(
        1, ours.num_id, tuple(words.all_special_ids), True, len(words), words.pad_token_id,
        several_tokens=ours.several_tokens, spells_numbers=ours.spells_numbers,
    )  # fmt: skip


def hide(ours: NumberProcessor, rows: dict[str, Any], wanted: torch.Tensor, in_sight: float = 0.0) -> Any:
    objective: Any = objectives["masked"].build(what="numbers", scale_in_sight=in_sight)
    return objective.prepare(dict(rows) | {"number_wanted": wanted}, words_of(ours))


def asked_text(rows: Any, row: int, number: int, text: str, in_sight: bool) -> str | None:
    """The text with [NUM] in place of a number; None if a token of it also writes other text, so that none is equal."""
    numeral, suffix = rows.numerals[row][number], ""
    own = rows["number_slots"][row].abs() == number + 1
    if "number_scale" in rows:
        scales = rows["number_scale"][row][own]
        suffix = numeral.style.suffix if (scales != 0).any() and (in_sight or (scales & 1).any()) else ""
    for begin, end in rows["offset_mapping"][row][own].tolist():
        if text[begin : numeral.start].strip() or (text[numeral.end : end].strip() and not suffix):
            return None
    return text[: numeral.start] + "[NUM]" + suffix + text[numeral.end :]


def stripped(fields: Any, row: int = 0) -> dict[str, list[int]]:
    real = fields["attention_mask"][row] == 1
    names = [name for name in ("input_ids", "number_slots", "token_type_ids") if name in fields]
    return {name: fields[name][row][real].tolist() for name in names}


@pytest.mark.parametrize("family", [*TINY, *FAMILIES, "joined"])
def test_hidden_is_as_asked(family: str) -> None:
    """Each number of a text, with every notation, its percent sign or scale word in sight and not, padded and not."""
    for notation in with_slots():
        ours, compared = processor(family, notation), 0
        side = "left" if notation in ("keep", "prefix") else "right"
        options: dict[str, Any] = {"padding": True, "padding_side": side, "return_tensors": "pt"}
        rows = ours(list(TEXTS), return_offsets_mapping=True, return_attention_mask=True, **options)
        for row, text in enumerate(TEXTS):
            for number, numeral in enumerate(rows.numerals[row]):
                for in_sight in (0.0, 1.0):
                    wanted = torch.zeros_like(rows["number_given"], dtype=torch.bool)
                    wanted[row, number] = True
                    task = hide(ours, rows, wanted, in_sight)
                    case = (notation, text, numeral, in_sight)
                    changed = asked_text(rows, row, number, text, bool(in_sight))
                    if changed is None:
                        assert family in MIXED, case
                        continue
                    if notation == "addback" and "%," in changed:
                        continue  # its [NUM] separates two characters that are one token elsewhere
                    asked = ours([changed], return_attention_mask=True, return_tensors="pt")
                    assert stripped(task.inputs, row) == stripped(asked), case
                    count = len(asked.numerals[0])
                    for name in ("number_bits", "number_precision", "number_given"):
                        assert torch.equal(task.inputs[name][row, :count], asked[name][0]), (name, case)
                    assert not task.inputs["number_chars"][row, number].any(), case
                    kept = changed.endswith(text[numeral.end :]) and len(changed) > len(text) - len(numeral.text) + 5
                    gold = NumberTable.of_numerals([numeral], written=kept)
                    assert torch.equal(task.targets.bits[row, number], gold.bits[0]), case
                    compared += 1
        assert compared >= 16, (notation, compared)


def test_written_number_is_the_target_of_a_sign_in_sight() -> None:
    ours = processor("bert", "keep")
    texts = ["0.07% or 3.2%", "1.5 million", "7 per cent", "1,250 million", "-12.50 %", "99 billion"]
    rows = ours(texts, padding=True, return_tensors="pt")
    task = hide(ours, rows, torch.ones_like(rows["number_given"]), in_sight=1.0)
    for row, numerals in enumerate(rows.numerals):
        for number, numeral in enumerate(numerals):
            assert task.targets.values()[row, number].item() == numeral.written
            power, kept = numeral.power, task.numbers
            assert task.targets.precision[row, number].item() == rows["number_precision"][row, number].item() - power
            assert kept.values()[row, number].item() == numeral.value, "the table before hiding"
            characters = NumberTable.of_values([numeral.written]).characters
            assert (task.targets.characters[row, number] > 0).sum() >= (characters > 0).sum() - 1
            assert not (task.targets.characters[row, number] >= 15).any() or "," in numeral.text
    some = objectives["masked"].build(what="numbers", number_ratio=1.0)
    many = {key: value[:1].expand(400, *value.shape[1:]) for key, value in rows.items()}
    seen = some.prepare(many | {"sample_id": torch.arange(400)}, words_of(ours)).targets.values()[:, 0]
    assert 150 < (seen == 0.07).sum() < 250 and ((seen == 0.07) | (seen == 0.0007)).all(), "half of them by default"


def test_vacated_places_are_padding_and_every_field_moves() -> None:
    rows = dict(ROWS) | {
        "token_type_ids": torch.ones(2, 10, dtype=torch.long), "labels": torch.arange(20).reshape(2, 10),
        "special_tokens_mask": torch.zeros(2, 10, dtype=torch.long), "boxes": torch.arange(80.0).reshape(2, 10, 4),
    }  # fmt: skip
    rows["position_ids"] = (rows["attention_mask"].cumsum(1) - 1).clamp_min(0)
    found = hide_numbers(rows, ALL, WORDS)
    inputs = found.inputs
    assert inputs["input_ids"].tolist() == [[2, 10, 100, 11, 3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2, 100, 12, 100, 3]]
    assert inputs["number_slots"].tolist() == [[0, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0, 2, 0]]
    assert found.source.tolist() == [[0, 1, 2, 6, 7, 8, 9, -1, -1, -1], [-1, -1, -1, 0, 1, 2, 3, 5, 6, 9]]
    gone = found.source < 0
    fills = {"labels": -100, "special_tokens_mask": 1}
    for name in ("attention_mask", "token_type_ids", "position_ids", "labels", "special_tokens_mask", "boxes"):
        assert inputs[name].shape == rows[name].shape, name
        assert (inputs[name][gone] == fills.get(name, 0)).all(), name
        if name != "position_ids":
            assert torch.equal(inputs[name], gather_rows(rows[name], found.source, fills.get(name, 0))), name
    closed = (inputs["attention_mask"].cumsum(1) - 1).clamp_min(0)
    real = inputs["attention_mask"].bool()
    assert torch.equal(inputs["position_ids"][real], closed[real]), "no gap shows how many tokens left"
    assert torch.equal(found.targets.bits, ROWS["number_bits"]), "targets are not blanked"
    for name in ("number_bits", "number_chars", "number_precision"):
        assert not inputs[name][ALL].any(), name
    assert inputs["number_given"].tolist() == [[ASKED, GIVEN], [ASKED, ASKED]]
    # A number that is not hidden loses nothing.
    one = hide_numbers(rows, torch.tensor([[False, False], [False, True]]), WORDS).inputs
    assert one["input_ids"].tolist() == [ROWS["input_ids"][0].tolist(), [0, 0, 0, 0, 2, 20, 100, 12, 100, 3]]
    assert torch.equal(one["number_bits"][1, :1], ROWS["number_bits"][1, :1])


def test_masks_and_positions() -> None:
    bare = {key: value[:1, :8] if key in ("input_ids", "number_slots") else value[:1] for key, value in ROWS.items()}
    del bare["attention_mask"]
    made = hide_numbers(bare, ALL[:1], WORDS).inputs
    assert made["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0, 0, 0]], "a mask is made where none was given"
    left = dataclasses.replace(WORDS, pads_left=True)
    positions = hide_numbers(dict(ROWS), ALL, left).inputs["position_ids"]
    assert positions[1].tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 3, 4] and positions[0, :5].tolist() == [0, 1, 2, 3, 4]
    for shape in ((2, 10, 10), (2, 1, 10, 10)):
        with pytest.raises(ValueError, match=r"attention_mask of shape \(batch, tokens\), got \(2, "):
            hide_numbers(dict(ROWS) | {"attention_mask": torch.ones(shape)}, ALL, WORDS)
    packed = torch.arange(10).expand(2, 10) % 4
    with pytest.raises(ValueError, match="position_ids start again within a row"):
        hide_numbers(dict(ROWS) | {"position_ids": packed}, ALL, WORDS)
    with pytest.raises(ValueError, match="no number table"):
        hide_numbers({"input_ids": ROWS["input_ids"], "number_slots": ROWS["number_slots"]}, ALL, WORDS)


@given(rows=st.integers(1, 3), seed=st.integers(0, 10_000), left=st.booleans())
@settings(max_examples=60, deadline=None)
def test_hiding_against_loops(rows: int, seed: int, left: bool) -> None:
    """Random rows: what stays, keeps its order; each hidden number is one [NUM] at its first token."""
    draw = torch.Generator().manual_seed(seed)
    texts, slots, counts = [], [], []
    for _ in range(rows):
        ids, own, count = [2], [0], 0
        for _ in range(int(torch.randint(1, 6, (), generator=draw))):
            kind, width = torch.randint(0, 3, (2,), generator=draw).tolist()
            if kind == 0:
                ids, own = [*ids, 10], [*own, 0]
                continue
            count += 1
            beside = [-count] * width if kind == 1 else [count] * width  # sub-words before [NUM], or in place
            ids += [20] * width + ([100] if kind == 1 else [21])
            own += [*beside, count]
        texts.append([*ids, 3]), slots.append([*own, 0]), counts.append(count)
    longest, most = max(map(len, texts)), max(1, *counts)

    def padded(row: list[int]) -> list[int]:
        fill = [0] * (longest - len(row))
        return fill + row if left else row + fill

    made = batch([padded(r) for r in texts], [padded(r) for r in slots], [[7.0] * most for _ in texts])
    hidden = torch.rand(rows, most, generator=draw) < 0.5
    found = hide_numbers(made, hidden, WORDS).inputs
    for row, (ids, own) in enumerate(zip(texts, slots, strict=True)):
        want, seen = [], set()
        for token, slot in zip(ids, own, strict=True):
            if slot and hidden[row, abs(slot) - 1]:
                if abs(slot) not in seen:
                    want.append((100, abs(slot)))
                seen.add(abs(slot))
            else:
                want.append((token, slot))
        real = found["attention_mask"][row] == 1
        pairs = zip(found["input_ids"][row][real].tolist(), found["number_slots"][row][real].tolist(), strict=True)
        assert list(pairs) == want
        assert not found["number_slots"][row][~real].any()
        assert bool(real[-1 if left and longest > len(ids) else 0])


def test_static_shapes_and_compilation() -> None:
    """No shape depends on the data, so that the step can be compiled as one graph."""
    compiled = torch.compile(
        lambda rows, hidden: hide_numbers(rows, hidden, WORDS).inputs, fullgraph=True, backend="eager"
    )
    for hidden in (ALL, ~ALL, torch.zeros_like(ALL)):
        one, other = compiled(dict(ROWS), hidden), hide_numbers(dict(ROWS), hidden, WORDS).inputs
        assert all(torch.equal(one[key], other[key]) for key in other), hidden


def test_fates_of_numbers() -> None:
    options: dict[str, Any] = {"ratio": 0.0, "number_ratio": 1.0}
    kept = objectives["masked"].build(**options, replace=[0.0, 0.0]).prepare(dict(ROWS), WORDS)
    assert torch.equal(kept.inputs["input_ids"], ROWS["input_ids"]) and kept.scored[1].all()
    assert torch.equal(kept.inputs["number_bits"], ROWS["number_bits"])
    assert (kept.inputs["number_given"] == GIVEN).all()
    random = objectives["masked"].build(**options, replace=[0.0, 1.0]).prepare(dict(ROWS), WORDS)
    places = random.inputs["number_slots"] > 0
    assert places.sum(1).tolist() == [1, 2] and (random.inputs["attention_mask"].sum(1) == 5).all()
    assert (random.inputs["input_ids"][places] < 60).all(), "one random word"
    assert (random.inputs["number_given"][1] == ASKED).all() and (random.labels == -100).all()
    masked = objectives["masked"].build(**options, hide_slot=True).prepare(dict(ROWS), WORDS)
    assert masked.inputs["input_ids"][0].tolist() == [2, 10, 4, 11, 3, 0, 0, 0, 0, 0]


def test_words_are_drawn_before_numbers_are_hidden() -> None:
    """The same words are masked whether numbers are hidden or not, and labels move with them."""
    rows = dict(ROWS) | {"sample_id": torch.tensor([3, 4])}
    both, words = (objectives["masked"].build(ratio=0.6, number_ratio=1.0, what=w) for w in ("both", "words"))
    task, plain = both.prepare(dict(rows), WORDS), words.prepare(dict(rows), WORDS)
    assert torch.equal(task.labels, gather_rows(plain.labels, task.source, -100)) and (task.labels != -100).any()


def test_what_is_shown() -> None:
    shown = objectives["masked"].build().shown  # type: ignore[attr-defined]
    assert shown(WORDS) == "nothing"
    assert shown(dataclasses.replace(WORDS, predicts_numbers=False)) == "the number"
    assert shown(dataclasses.replace(WORDS, predicts_numbers=False, spells_numbers=True)) == "its length"
    apart = objectives["masked"].build(joint=False).shown  # type: ignore[attr-defined]
    assert apart(WORDS) == "the number" and apart(dataclasses.replace(WORDS, several_tokens=False)) == "nothing"


def attached(name: str = "bert", recipe: str = "in-place", **options: Any) -> Any:
    torch.manual_seed(0)
    return numerate.attach(new_backbone(name), tokenizer_of(name), recipe, **options).eval()


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_what_is_trained_is_what_is_asked(name: str) -> None:
    """The model predicts a hidden number as it predicts the text with [NUM], padded on either side."""
    model = attached(name, objective={"kind": "masked", "what": "numbers", "scale_in_sight": 1.0})
    with torch.no_grad():
        for side in ("right", "left") if name == "roberta" else ("right",):
            rows = model.processor(NUMBERS, padding=True, padding_side=side, return_tensors="pt")
            rows["number_wanted"] = torch.zeros_like(rows["number_given"], dtype=torch.bool)
            rows["number_wanted"][1, 0] = True
            output = model(**rows, return_loss=True)
            assert output.source_index.shape == rows["input_ids"].shape
            assert output.number_index.tolist() == [[1, 0]]
            asked = model.predict(NUMBERS[1].replace("3.2%", "[NUM]%"))
            torch.testing.assert_close(output.numbers.median(), asked.median(), rtol=1e-4, atol=1e-6)
            nats = -output.numbers.log_prob(NumberTable.of_values([3.2])).mean()
            assert output.loss.item() == pytest.approx(nats.item(), rel=1e-4)


@pytest.mark.parametrize(
    ("text", "asked"),
    [("It sold between 2 and 2.5 million copies.", "2.5 million"), ("It cost $43-65 million.", "43")],
)
def test_a_shared_scale_stays_at_its_number(text: str, asked: str) -> None:
    """Of `2 and 2.5 million`, the 2 that is given does not tell that millions are hidden."""
    model = attached()
    rows = model.processor([text], padding=True, return_tensors="pt")
    wanted = torch.tensor([[n.text == asked for n in rows.numerals[0]]])
    hidden = hide(model.processor, rows, wanted)
    literal = model.processor([text.replace(asked, "[NUM]")], padding=True, return_tensors="pt")
    assert torch.equal(
        hidden.inputs["number_bits"].masked_fill(wanted, 0), literal["number_bits"].masked_fill(wanted, 0)
    )
    assert hidden.targets.values()[wanted].tolist() == [2.5e6 if "million" in asked else 43.0]


def test_left_padding_gives_positions_by_the_mask() -> None:
    model = attached(objective={"kind": "masked", "what": "numbers", "scale_in_sight": 0.0})
    rows = model.processor(NUMBERS, padding=True, padding_side="left", return_tensors="pt")
    rows["number_wanted"] = torch.ones_like(rows["number_given"], dtype=torch.bool)
    side = model.processor.tokenizer.padding_side
    model.processor.tokenizer.padding_side = "left"
    try:
        inputs = model.task(dict(rows), None, return_loss=True).inputs
    finally:
        model.processor.tokenizer.padding_side = side
    for mask, positions in zip(inputs["attention_mask"], inputs["position_ids"], strict=True):
        assert positions[mask == 1].tolist() == list(range(int(mask.sum())))


def test_counts_are_those_of_the_gathered_task() -> None:
    model = attached("roberta", objective={"kind": "masked", "ratio": 0.3, "number_ratio": 0.5})
    rows = number_batch(model, "roberta", NUMBERS) | {"sample_id": torch.arange(3)}
    task = model.task(dict(rows), None, return_loss=True)
    counts = batch_counts(model, rows)
    assert counts["tokens"] == (task.labels != -100).sum() and counts["numbers"] == task.scored.sum()
    loss = model(**rows, return_loss=True).loss
    with fixed_counts(Counts(int(counts["numbers"]), int(counts["tokens"]))):
        torch.testing.assert_close(model(**rows, return_loss=True).loss, loss)


def test_without_a_head_numbers_stay() -> None:
    model = attached("bert", "value-prefix", objective={"kind": "masked", "ratio": 0.0, "number_ratio": 1.0})
    rows = number_batch(model, "bert", NUMBERS)
    task = model.task(dict(rows), None, return_loss=True)
    assert torch.equal(task.inputs["input_ids"], rows["input_ids"]) and not task.scored.any()
    assert torch.equal(task.inputs["number_bits"], rows["number_bits"]) and (task.labels == -100).all()


def test_number_token_losses_need_tokens() -> None:
    options = {"kind": "masked", "number_tokens": {"loss": "was"}}
    for recipe in ("in-place", "luna", "xval"):
        with pytest.raises(ValueError, match=r"number_tokens with notation '\w+': hidden numbers have no tokens"):
            attached("bert", recipe, objective=options)
    attached("bert", "in-place", objective=options | {"joint": False})
    attached("bert", "subwords", objective=options)


def test_collator_pads_scales_as_tokens() -> None:
    ours = processor("bert", "keep")
    rows = ours(["It rose 3.2%.", "It is so, and fell by 7 per cent in all."])
    split = [{key: rows[key][row] for key in rows} for row in range(2)]
    ours.tokenizer.padding_side = "left"
    try:
        padded = NumberCollator(ours.tokenizer, pad_to_multiple_of=16)(split)
    finally:
        ours.tokenizer.padding_side = "right"
    assert padded["number_scale"].shape == padded["input_ids"].shape
    for row in range(2):
        assert padded["number_scale"][row].tolist()[-len(split[row]["input_ids"]) :] == split[row]["number_scale"]


@pytest.mark.parametrize("family", ["gpt2", "llama", "joined", "bpe", "bpe-prefix"])
def test_state_before_an_asked_number_is_that_before_a_written_one(family: str) -> None:
    """A causal model predicts a number from the token before it, which must not tell a written number from [NUM]."""
    from transformers import GPT2Config, GPT2LMHeadModel

    words = tokenizer(family)
    torch.manual_seed(0)
    backbone = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_embd=32, n_layer=2, n_head=2)).eval()
    texts = {
        "it is {} m": ("42", "7", "1,234.5", "0"), "it is $ {} of": ("5", "10"), "it costs ${}": ("3.50", "9"),
        "{} m": ("12", "8"), "it is  {}": ("6", "31"), "rose {}%": ("3.2", "17"),
    }  # fmt: skip
    for notation in ({"kind": "keep", "slot": True}, "addback", "prefix", "marker"):
        model = numerate.attach(backbone, words, "in-place", notation=notation, objective="causal").eval()
        for text, numbers in texts.items():
            if text.startswith("{}"):
                continue  # no token before it
            asked = model.predict(text.format("[NUM]")).median()
            for number in numbers:
                rows = model.processor([text.format(number)], return_tensors="pt")
                with torch.no_grad():
                    written = model.numbers_of(rows)[0].median()
                case = f"{notation}: {text.format(number)}"
                torch.testing.assert_close(written[-1:], asked, rtol=1e-4, atol=1e-6, msg=case)
