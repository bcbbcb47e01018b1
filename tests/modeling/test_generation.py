"""Generated texts and numbers, compared with a single forward pass and with Hugging Face's own `generate`."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
import transformers as hf
from tiny_models import NUMBERS, PLAIN, bare_batch, new_backbone, open_features, tokenizer_of

import numerate
from numerate.modeling.generation.rows import append_token, last_token, numeral_of
from numerate.modeling.generation.search import choose_tokens, warp_scores
from numerate.modeling.generation.stepping import next_token_logits
from numerate.notation.base import END, NUM
from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.scaling import Scaling

NAMES = ("gpt2", "llama", "t5")
PROMPTS = [*NUMBERS[:2], PLAIN[0]]
FEATURES = {"reach": 1, "late_reach": 2, "relations": 3}
PIECES = ("digits", "p10", "ieee", "numerologic", "scientific")


def speaking_model(name: str, notation: Any = "marker", eagerness: float = 2.0, **options: Any) -> Any:
    """A model with a high probability of numbers, always with the same random weights."""
    torch.manual_seed(0)
    options = {"embedder": "log-value", "head": "log-sign"} | options
    options = options if notation in ("marker", "addback", "prefix") else {"head": None}
    model = numerate.attach(new_backbone(name), tokenizer_of(name), notation=notation, objective=None, **options).eval()
    open_features(model)
    torch.nn.init.normal_(model.own_logits.weight, std=0.1)
    model.own_logits.bias.data.fill_(eagerness * (6 if name == "t5" and eagerness > 0 else 1))
    return model


@pytest.mark.parametrize(
    ("name", "notation", "options"),
    [
        *((NAMES[i % 3], one, {}) for i, one in enumerate(("marker", "addback", "prefix", *PIECES[:2], "keep"))),
        *(("t5", "marker", {}), ("llama", "p10", {}), ("gpt2", "scientific", {}), ("t5", "prefix", {})),
        *(("gpt2", "prefix", FEATURES), ("llama", "addback", FEATURES)),
    ],
)
def test_the_cache_changes_nothing(name: str, notation: str, options: dict[str, Any]) -> None:
    model = speaking_model(name, notation, **options)
    # Three digits: where a numeral is written in subwords, the last one must not depend on float32's rounding.
    kept, again = (model.generate(PROMPTS, 10, use_cache=cached, significant_digits=3) for cached in (True, False))
    assert kept.ids == again.ids and list(map(len, kept.numbers)) == list(map(len, again.numbers))
    for one, other in zip(itertools.chain(*kept.values), itertools.chain(*again.values), strict=True):
        assert one == pytest.approx(other, rel=1e-2, nan_ok=True)
    assert kept.scores == pytest.approx(again.scores, rel=1e-4)
    if notation in ("marker", "digits", "p10"):
        assert any(kept.numbers), "some text must have a number"


@pytest.mark.parametrize("options", [{}, FEATURES], ids=["plain", "features"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generation_agrees_with_one_forward_pass(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each token and number again, by one `forward` over a batch that is built by hand."""
    steps: list[torch.Tensor] = []

    def recorded(*arguments: Any) -> Any:
        found = next_token_logits(*arguments)
        steps.append(found[0])
        return found

    monkeypatch.setattr("numerate.modeling.generation.state.next_token_logits", recorded)
    model = speaking_model(name, "marker", **options)
    done = model.generate(PROMPTS, 8)
    assert sum(map(len, done.numbers)) > 3
    for row, (prompt, ids, numbers) in enumerate(zip(PROMPTS, done.ids, done.numbers, strict=True)):
        given = model.processor(prompt, return_tensors="pt")
        length = given["input_ids"].shape[1]
        whole = torch.cat([given["input_ids"][0], torch.tensor(ids)])[None]
        values = [numeral.value for numeral in model.processor.reader.find(prompt)]
        values += [float(number.text) for number in numbers]
        table, at = NumberTable.of_values(values), whole == model.processor.num_id
        batch = {
            "input_ids": whole, "number_slots": torch.where(at, at.cumsum(1), 0), "number_bits": table.bits[None],
            "number_given": torch.full((1, len(values)), GIVEN), "number_chars": table.characters[None],
        }  # fmt: skip
        with torch.no_grad():
            output = model(**batch, every_number=True)
        stepwise = torch.stack([step[row] for step in steps[: len(ids)]])
        torch.testing.assert_close(stepwise, output.logits[0, length - 1 : -1], rtol=1e-4, atol=1e-4)
        texts = [tokenizer_of(name).decode([index]) for index in range(len(tokenizer_of(name)))]
        for position, token in enumerate(whole[0].tolist()):  # tokens that would merge with a number are not allowed
            if token == model.processor.num_id:
                output.logits[0, position, [i for i, text in enumerate(texts) if text[:1].isdigit()]] = -torch.inf
            if token == model.processor.num_id or texts[token][-1:].isdigit():
                output.logits[0, position, model.processor.num_id] = -torch.inf
        assert output.logits[0, length - 1 : -1].argmax(-1).tolist() == ids
        new = output.numbers[len(output.numbers) - len(numbers) :]
        for index, number in enumerate(numbers):
            median = new[index].median().item()
            assert number.value == pytest.approx(median, rel=1e-4), "written with six digits"
            assert number.distribution.median().item() == pytest.approx(median, rel=1e-4)
            assert number.text in done.texts[PROMPTS.index(prompt)]


@torch.no_grad()
@pytest.mark.parametrize("recipe", ["float", "luna", "value-prefix", "in-place"])
def test_cached_steps_over_a_text_give_the_logits_of_one_forward_pass(recipe: str) -> None:
    torch.manual_seed(0)
    model = open_features(numerate.attach(new_backbone("gpt2"), tokenizer_of("gpt2"), recipe, **FEATURES))
    batch = dict(model.processor([NUMBERS[2] + " It fell 3, 4, 5 and 6%."], return_tensors="pt"))
    whole, past = model(**batch).logits, None
    for end in range(1, whole.shape[1] + 1):
        fields = batch | {key: batch[key][:, :end] for key in ("input_ids", "attention_mask", "number_slots")}
        fields = fields if past is None else last_token(fields, reach=2, relations=3)
        logits, _, past = next_token_logits(model, fields, past)
        torch.testing.assert_close(logits, whole[:, end - 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", [*NAMES, "qwen2"])
def test_texts_without_numbers_equal_hugging_faces(name: str, beams: int) -> None:
    model = speaking_model(name, "marker", eagerness=-1e4)
    batch = bare_batch(name, PLAIN, side="left")
    ends = {"eos_token_id": None} if beams > 1 else {}  # beams of different lengths are compared differently
    if beams > 1:
        model.backbone.generation_config.eos_token_id = []
    theirs = new_backbone(name).generate(**batch, max_new_tokens=9, num_beams=beams, do_sample=False, **ends)
    theirs = theirs[:, 1:] if name == "t5" else theirs[:, batch["input_ids"].shape[1] :]
    ours = model.generate(PLAIN, 9, num_beams=beams)
    for row, ids in zip(theirs.tolist(), ours.ids, strict=True):
        assert row[: len(ids)] == ids
    assert ours.numbers == [[], [], []]


@pytest.mark.parametrize("name", NAMES)
def test_beams_end_as_hugging_faces_do(name: str) -> None:
    model = speaking_model(name, "marker", eagerness=-1e4)
    model.backbone.generation_config.eos_token_id = []
    end = model.generate(PLAIN, 4, num_beams=3).ids[0][2]
    batch = bare_batch(name, PLAIN, side="left")
    theirs = new_backbone(name).generate(**batch, max_new_tokens=8, num_beams=3, do_sample=False, eos_token_id=end)
    theirs = theirs[:, 1:] if name == "t5" else theirs[:, batch["input_ids"].shape[1] :]
    model.backbone.generation_config.eos_token_id = end
    for row, ids in zip(theirs.tolist(), model.generate(PLAIN, 8, num_beams=3).ids, strict=True):
        assert ids == (row[: row.index(end) + 1] if end in row else row)


def test_enough_beams_find_the_most_probable_text() -> None:
    model = speaking_model("gpt2", "marker", eagerness=-1e4)
    model.backbone.generation_config.eos_token_id = []
    width = len(tokenizer_of("gpt2"))
    found = model.generate(PLAIN[0], 2, num_beams=width)
    start = torch.tensor(tokenizer_of("gpt2")(PLAIN[0])["input_ids"])
    with torch.no_grad():
        first = model.backbone(start[None]).logits[0, -1].log_softmax(-1)
        every = torch.cat([start.expand(width, -1), torch.arange(width)[:, None]], dim=1)
        total = first[:, None] + model.backbone(every).logits[:, -1].log_softmax(-1)
    assert divmod(int(total.argmax()), width) == tuple(found.ids[0])
    assert found.scores[0] == pytest.approx(total.max().item(), rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_beams_score_at_least_as_high_as_greedy(name: str) -> None:
    model = speaking_model(name, "digits")
    greedy, beams = model.generate(PROMPTS, 6), model.generate(PROMPTS, 6, num_beams=4)
    assert all(b >= g - 1e-4 for g, b in zip(greedy.scores, beams.scores, strict=True))
    for row in beams.numbers:
        for number in row:
            assert number.text in ("nan", "inf", "-inf") or numerate.find(number.text)[0].value == number.value


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_rows_do_not_depend_on_each_other(name: str) -> None:
    model = speaking_model(name, "marker")
    together = model.generate(PROMPTS, 8)
    alone = [model.generate(prompt, 8) for prompt in PROMPTS]
    assert together.ids == [one.ids[0] for one in alone]
    for row, one in zip(together.values, alone, strict=True):
        assert row == pytest.approx(one.values[0], rel=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_end_tokens_end_a_text(name: str) -> None:
    model = speaking_model(name, "marker")
    free = model.generate(PROMPTS, 8)
    end = free.ids[0][1]
    model.backbone.generation_config.eos_token_id = [end, 10**6]
    for ids, before in zip(model.generate(PROMPTS, 8).ids, free.ids, strict=True):
        assert ids == (before[: before.index(end) + 1] if end in before else before)


@pytest.mark.parametrize("notation", PIECES)
def test_numbers_are_always_complete(notation: str) -> None:
    model = speaking_model("gpt2", notation, eagerness=5.0)
    generator = torch.Generator().manual_seed(1)
    said = model.generate(PLAIN * 6, 5, do_sample=True, temperature=1.5, generator=generator)
    law, first = model.processor.notation, model.processor.first_id
    assert sum(map(len, said.numbers)) > 3
    for ids, text, numbers in zip(said.ids, said.texts, said.numbers, strict=True):
        assert not any(mark in text for mark in (NUM, "[EXP]")), text
        if notation != "scientific":
            own = [model.processor.own_tokens[i - first] if i >= first else None for i in ids]
            runs = [list(run) for is_own, run in itertools.groupby(own, lambda token: token is not None) if is_own]
            assert sum(1 for run in runs for _ in _split(law, run)) == len(numbers)
            assert [law.read(part).value for run in runs for part in _split(law, run)] == pytest.approx(
                [number.value for number in numbers], nan_ok=True
            )
        position = 0
        for number in numbers:
            position = text.index(number.text, position) + len(number.text)
            assert number.log_prob < 0


def _split(law: Any, run: list[str]) -> list[list[str]]:
    """A run of tokens split into numbers, each as long as possible."""
    parts: list[list[str]] = []
    while run:
        longest = max(i for i in range(1, len(run) + 1) if END in law.legal_next(run[:i]))
        parts, run = [*parts, run[:longest]], run[longest:]
    return parts


def test_prefix_writes_numerals_and_addback_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[Any] = []

    def recorded(*arguments: Any) -> Any:
        batches.append(append_token(*arguments))
        return batches[-1]

    monkeypatch.setattr("numerate.modeling.generation.state.append_token", recorded)
    model = speaking_model("gpt2", "prefix", eagerness=6.0)
    said = model.generate(PLAIN, 6)
    slots, given = batches[-1]["number_slots"].tolist(), batches[-1]["number_given"].tolist()
    for row, (ids, text, numbers) in enumerate(zip(said.ids, said.texts, said.numbers, strict=True)):
        written = [model.processor(number.text)["number_slots"] for number in numbers]  # [1, -1, ...]
        expected = [slot * (k + 1) for k, one in enumerate(written) for slot in one]
        assert [slot for slot in slots[row] if slot] == expected and given[row].count(GIVEN) == len(numbers)
        assert numbers and text.count(numbers[0].text) >= 1 and NUM not in text
        assert ids.count(model.processor.num_id) == len(numbers)
    model = speaking_model("llama", "addback", eagerness=6.0)
    for numbers in model.generate(PROMPTS, 10).numbers:
        assert all(numerate.find(number.text)[0].value == number.value for number in numbers)


def test_sampling() -> None:
    model = speaking_model("llama", "marker")
    greedy = model.generate(PROMPTS, 8)
    assert model.generate(PROMPTS, 8, do_sample=True, top_k=1, number="median").ids == greedy.ids
    assert model.generate(PROMPTS, 8, do_sample=True, top_p=1e-6, number="median").ids == greedy.ids
    one, same, other = (
        model.generate(PROMPTS, 8, do_sample=True, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert one.ids == same.ids and one.values == same.values and one.ids != other.ids


@pytest.mark.parametrize("options", [{"top_k": 7}, {"top_p": 0.6}, {"temperature": 0.5, "top_k": 20, "top_p": 0.8}])
def test_warping_equals_hugging_faces(options: dict[str, Any]) -> None:
    scores = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    theirs = scores
    for name, kind in (
        ("temperature", hf.TemperatureLogitsWarper),
        ("top_k", hf.TopKLogitsWarper),
        ("top_p", hf.TopPLogitsWarper),
    ):
        theirs = kind(options[name])(None, theirs) if name in options else theirs  # type: ignore[arg-type]
    torch.testing.assert_close(warp_scores(scores, **options), theirs)


def test_samples_have_the_right_frequencies() -> None:
    shares = torch.tensor([0.5, 0.3, 0.2])
    drawn = choose_tokens(shares.log().expand(20000, 3), True, torch.Generator().manual_seed(0))
    torch.testing.assert_close(torch.bincount(drawn) / 20000, shares, atol=0.015, rtol=0)


def test_which_number_is_taken_and_how_it_is_written() -> None:
    model = speaking_model("gpt2", "marker", eagerness=50.0)
    for how in ("median", "mode", "mean"):
        number = model.generate(PLAIN[0], 1, number=how, significant_digits=4).numbers[0][0]
        exact = getattr(number.distribution, how)().item()
        assert number.value == float(f"{exact:.3e}") and float(number.text) == number.value
    assert model.generate(PLAIN[0], 1, bounds=(20.0, 21.0)).values[0][0] in (20.0, 21.0)
    done = model.generate(PLAIN[0], 3)
    assert done.ids[0][0] == done.ids[0][2] == model.processor.num_id != done.ids[0][1], "two numbers would merge"
    assert done.values == [[number.value for number in done.numbers[0]]] and len(done.values[0]) == 2


def test_values_are_written_as_numerals() -> None:
    for value in (0.0, -0.0, 1.0, -7.25, 1234567.0, 1e-300, 1.7976931348623157e308, 5e-324, 1e15, 0.1):
        numeral = numeral_of(value, 6)
        assert numeral.value == float(numeral.text) == pytest.approx(value, rel=1e-4, abs=5e-324)
        assert [found.value for found in numerate.find(numeral.text)] == [numeral.value]


def test_without_a_head_no_number_is_generated() -> None:
    model = speaking_model("gpt2", "marker", eagerness=50.0)
    model.head = None
    done = model.generate(PLAIN, 4)
    assert done.numbers == [[], [], []] and all(max(ids) < model.processor.first_id for ids in done.ids)


def test_a_backbone_without_a_cache() -> None:
    from numerate.backbones.lstm import NumerateLSTMConfig, NumerateLSTMForCausalLM

    torch.manual_seed(0)
    words = tokenizer_of("gpt2")
    backbone = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=len(words), hidden_size=16)).eval()
    model = numerate.attach(
        backbone, words, notation="marker", embedder="log-value", head="log-sign", objective=None
    ).eval()
    model.own_logits.bias.data.fill_(0.5)
    together = model.generate(PROMPTS, 6)
    assert together.ids == [model.generate(prompt, 6).ids[0] for prompt in PROMPTS] and any(together.numbers)
    assert len(model.generate(PROMPTS, 3, num_beams=2).texts) == 3


def test_training_mode_is_restored() -> None:
    model = speaking_model("gpt2", "marker").train()
    assert model.generate(PLAIN, 4).ids == model.generate(PLAIN, 4).ids and model.training


def test_no_prompts_and_no_new_tokens() -> None:
    model = speaking_model("gpt2", "marker")
    assert model.generate([], 4).texts == [] and model.generate(PLAIN[:1], 0).texts == [""]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": -1}, "max_new_tokens must be at least 0, got -1"),
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
        ({"top_p": 1.5}, r"top_p must lie in \(0, 1\], got 1.5"),
        ({"top_k": 0}, "top_k must be at least 1, got 0"),
        ({"number": "middle"}, "got 'middle'"),
        ({"bounds": (2.0, 1.0)}, r"got \(2.0, 1.0\)"),
        ({"num_beams": 2, "do_sample": True}, "does not sample"),
        ({"prompts": [""]}, "prompt 0 has no tokens to continue: ''"),
        ({"max_new_tokens": 2.5}, "max_new_tokens must be a whole number, got 2.5"),
        ({"temperature": "hot"}, "temperature must be a number, got 'hot'"),
        ({"do_sample": "yes"}, "do_sample must be True or False, got 'yes'"),
        ({"max_new_tokens": 200}, r"129 tokens are too many for GPT2LMHeadModel, which has 128 positions: cut texts"),
        ({"prompts": None, "input_ids": torch.zeros(3)}, r"of shape \(rows, tokens\), got torch.float32 of"),
        ({"prompts": None, "input_ids": torch.zeros(1, 0).long()}, "input_ids row 0 has no tokens to continue"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        speaking_model("gpt2").generate(**{"prompts": PLAIN} | options)


def test_unknown_options_are_named() -> None:
    for option, hint in (("temprature", "did you mean 'temperature'"), ("xyz", "known: .*do_sample.*generator")):
        with pytest.raises(TypeError, match=f"^generate: unknown option {option}=0.5: {hint}"):
            speaking_model("gpt2").generate(PLAIN, 2, **{option: 0.5})


def test_models_that_cannot_generate_are_refused() -> None:
    broken = speaking_model("gpt2")
    broken.own_logits.bias.data.fill_(torch.nan)
    with pytest.raises(ValueError, match="logits are NaN, first for prompt 0"):
        broken.generate(PLAIN, 2)
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna")
    with pytest.raises(ValueError, match="from left to right, got 'masked-lm'"):
        model.generate(PLAIN)


def test_numbers_scaled_by_field_cannot_be_generated() -> None:
    texts = ['{"mass": 3.5, "age": 70}', '{"mass": 4.5, "age": 30}']
    numerals = [numeral for row in numerate.find_batch(texts, reader="records") for numeral in row]
    scaling = Scaling(by="path", scaler="range").fit(numerals)
    model = numerate.attach(new_backbone("gpt2"), tokenizer_of("gpt2"), "xval", reader="records", scaling=scaling)
    with pytest.raises(ValueError, match=r"numbers are scaled by path \('age', \.\.\.\); it takes 'none'"):
        model.generate('{"mass": 3.5, "age":')
