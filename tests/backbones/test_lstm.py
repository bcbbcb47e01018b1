"""The LSTM of 2018 against its equations, and with numbers attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

import numerate
from numerate.backbones.lstm import NumerateLSTMConfig, NumerateLSTMForCausalLM, glove_rows, use_word_vectors
from numerate.backbones.word_tokenizer import build_word_tokenizer

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "The ejection fraction was 60 % and the volume 1,250.50 ml.",
    "The volume was 35 ml.",
    "The patient, aged 71, has a fraction of 1.5 and a volume of 0.5 ml; the heart rate was 60.",
]


@pytest.fixture
def model() -> NumerateLSTMForCausalLM:
    torch.manual_seed(0)
    return NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=20, hidden_size=6)).eval()


def by_hand(model: NumerateLSTMForCausalLM, embeddings: torch.Tensor) -> torch.Tensor:
    """Logits of one text from the equations of an LSTM: (T, E) -> (T, V)."""
    lstm, size = model.lstm, model.config.hidden_size
    state = cell = torch.zeros(size)
    logits = []
    for vector in embeddings:
        gates = lstm.weight_ih_l0 @ vector + lstm.weight_hh_l0 @ state + lstm.bias_ih_l0 + lstm.bias_hh_l0
        keep, forget, new, out = gates.split(size)
        cell = forget.sigmoid() * cell + keep.sigmoid() * new.tanh()
        state = out.sigmoid() * cell.tanh()
        logits.append(model.output.weight @ state + model.output.bias)
    return torch.stack(logits)


def test_equations(model: NumerateLSTMForCausalLM) -> None:
    ids = torch.tensor([[2, 7, 9, 3]])
    output = model(input_ids=ids, output_hidden_states=True)
    torch.testing.assert_close(output.logits[0], by_hand(model, model.words(ids[0])))
    torch.testing.assert_close(model(inputs_embeds=model.words(ids)).logits, output.logits)
    torch.testing.assert_close(model.output(output.hidden_states[-1]), output.logits)
    assert model.lstm.bias_ih_l0.tolist() == [0.0] * 6 + [1.0] * 6 + [0.0] * 12
    assert not model.lstm.bias_hh_l0.any()
    assert model.words.weight.data_ptr() != model.output.weight.data_ptr()


def test_padding_does_not_change_real_tokens(model: NumerateLSTMForCausalLM) -> None:
    for side in ["left", "right", "both"]:
        rows = [[2, 7, 9, 11, 3], [2, 8, 3], [5]]
        ids, mask = torch.zeros(3, 6, dtype=torch.int64), torch.zeros(3, 6, dtype=torch.int64)
        for index, row in enumerate(rows):
            start = {"left": 6 - len(row), "right": 0, "both": (6 - len(row)) // 2}[side]
            ids[index, start : start + len(row)], mask[index, start : start + len(row)] = torch.tensor(row), 1
        logits = model(input_ids=ids, attention_mask=mask).logits
        for index, row in enumerate(rows):
            torch.testing.assert_close(
                logits[index, mask[index].bool()], by_hand(model, model.words(torch.tensor(row)))
            )


def test_loss_predicts_the_next_token(model: NumerateLSTMForCausalLM) -> None:
    ids = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
    labels = ids.masked_fill(ids == 0, -100)
    output = model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels)
    terms = output.logits.log_softmax(-1)
    places = [(0, 0, 7), (0, 1, 9), (0, 2, 3), (1, 0, 8), (1, 1, 3)]
    torch.testing.assert_close(output.loss, -torch.stack([terms[place] for place in places]).mean())
    assert model(input_ids=ids, labels=labels, return_dict=False)[0].isfinite()


def test_dropout_before_and_after_the_lstm() -> None:
    torch.manual_seed(0)
    model = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=20, dropout=0.5))
    embeddings = torch.randn(2, 30, 50)
    model.train()
    seen: list[torch.Tensor] = []
    handle = model.lstm.register_forward_hook(lambda module, given, result: seen.extend([given[0], result[0]]))
    hidden = model(inputs_embeds=embeddings, output_hidden_states=True).hidden_states[-1]
    handle.remove()
    for before, behind in ((embeddings, seen[0]), (seen[1], hidden)):
        dropped = behind == 0
        assert 0.4 < dropped.float().mean() < 0.6
        torch.testing.assert_close(behind[~dropped], 2 * before[~dropped])
    model.eval()
    one, two = (model(inputs_embeds=embeddings).logits for _ in range(2))
    assert torch.equal(one, two)


def test_generation_and_saving(model: NumerateLSTMForCausalLM, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    model.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert isinstance(again, NumerateLSTMForCausalLM)
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in model.state_dict().items())
    ids = torch.tensor([[2, 7, 9]])
    made = again.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False)[0].tolist()
    step = ids[0].tolist()
    while len(step) < len(made):
        step.append(int(by_hand(model, model.words(torch.tensor(step)))[-1].argmax()))
    assert made == step


def test_errors_quote_the_value(model: NumerateLSTMForCausalLM, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="either input_ids or inputs_embeds"):
        model()
    with pytest.raises(ValueError, match=r"\(1, 3\)"):
        model(input_ids=torch.ones(1, 2, dtype=torch.int64), attention_mask=torch.ones(1, 3))
    with pytest.raises(ValueError, match="hidden_size=0"):
        NumerateLSTMConfig(hidden_size=0)
    with pytest.raises(ValueError, match="dropout=1"):
        NumerateLSTMConfig(dropout=1.0)
    (tmp_path / "words.npz").write_text("nothing")
    with pytest.raises(ValueError, match=r"words\.npz"):
        glove_rows(["a"], tmp_path / "words.npz")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """A file of five-dimensional word vectors that are in a plane, except for a little noise."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    points = rng.normal(size=(40, 2)) * [3.0, 1.0] @ plane.T + 0.001 * rng.normal(size=(40, 5)) + 7
    path = tmp_path / "vectors.npz"
    np.savez(path, words=np.array([f"w{i}" for i in range(40)]), vectors=points)
    return path


def test_word_vectors_keep_their_distances(vectors: Path) -> None:
    words = ["w3", "nothing", "w11", "w29"]
    rows, found = glove_rows(words, vectors, dim=2, seed=1)
    assert found.tolist() == [True, False, True, True]
    points = np.load(vectors)["vectors"][[3, 11, 29]]
    for one in range(3):
        for two in range(3):
            distance = (rows[found][one] - rows[found][two]).norm().item()
            assert distance == pytest.approx(np.linalg.norm(points[one] - points[two]), abs=0.02)
    again, _ = glove_rows(["w0", "nowhere", "nobody"], vectors, dim=2, seed=1)
    assert not torch.equal(again[1], again[2])
    assert torch.equal(glove_rows(words, vectors, dim=2, seed=1)[0], rows)
    with pytest.raises(ValueError, match="dim=6"):
        glove_rows(words, vectors, dim=6)


def test_word_vectors_initialise_input_and_output(vectors: Path) -> None:
    tokenizer = build_word_tokenizer(["word other", "word 7"], 10)
    np.savez(vectors, words=np.array(["word", "other", "third"]), vectors=np.random.default_rng(0).normal(size=(3, 6)))
    model = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=len(tokenizer), hidden_size=2))
    assert use_word_vectors(model, tokenizer, vectors) == 2
    known, seven = tokenizer.convert_tokens_to_ids(["word", "7"])
    assert torch.equal(model.words.weight[known], model.output.weight[known])
    assert not torch.equal(model.words.weight[seven], model.output.weight[seven])
    assert model.words.weight.requires_grad


@pytest.mark.shared("data/words/glove100_top30k.npz")
def test_real_word_vectors(shared: Path) -> None:
    words = ["one", "two", "hundred", "king", "queen", "cat", "<PAD>"]
    rows, found = glove_rows(words, shared / "data/words/glove100_top30k.npz")
    assert rows.shape == (7, 50)
    assert found.tolist() == [True] * 6 + [False]
    unit = torch.nn.functional.normalize(rows)
    assert unit[0] @ unit[1] > 0.8 > 0.6 > unit[0] @ unit[3]
    assert unit[3] @ unit[4] > unit[3] @ unit[5] + 0.2


def test_training_with_numbers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    tokenizer = build_word_tokenizer(TEXTS, 20, numerals=False)
    backbone = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=len(tokenizer), hidden_size=16))
    model = numerate.attach(
        backbone, tokenizer, reader="plain", notation="marker",
        embedder={"kind": "gated-chars", "known": 4, "hidden": 8}, head="mixture", objective="causal",
    )  # fmt: skip
    model.embedder.fit(torch.tensor([60.0, 60.0, 35.0, 1.5, 0.5, 7.0]))
    assert (model.info.task, model.info.is_causal, model.info.hidden_dim) == ("causal-lm", True, 16)
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    assert (batch["number_slots"] > 0).sum(1).tolist() == [2, 1, 4]
    assert batch["input_ids"][0, 0] == tokenizer.bos_token_id
    assert tokenizer.eos_token_id in batch["input_ids"][0]
    assert not (batch["input_ids"][1] == tokenizer.unk_token_id).any(), "a number never reaches the tokenizer"
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        loss = model(**batch).loss
        loss.backward()
        assert all(weight.grad is not None for name, weight in model.named_parameters()), "everything learns"
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    model.eval()
    model.save_pretrained(tmp_path, backbone=True)
    again = numerate.from_pretrained(tmp_path).eval()
    asked = ["The ejection fraction was [NUM] %", "The volume was [NUM] ml."]
    with torch.no_grad():
        assert torch.equal(model(**batch).logits, again(**batch).logits)
    assert torch.equal(model.predict(asked).median(), again.predict(asked).median())
    # Padding on the left gives the same distributions.
    again.processor.tokenizer.padding_side = "left"
    torch.testing.assert_close(again.predict(asked).median(), model.predict(asked).median())


def test_text_without_numbers_keeps_its_logits() -> None:
    torch.manual_seed(0)
    tokenizer = build_word_tokenizer(TEXTS, 20, numerals=False)
    backbone = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=len(tokenizer))).eval()
    model = numerate.attach(backbone, tokenizer, "numerals-2018").eval()
    texts = ["The volume was a fraction.", "the patient"]
    plain, ours = (
        tokenizer(texts, padding=True, return_tensors="pt"),
        model.processor(texts, padding=True, return_tensors="pt"),
    )
    assert torch.equal(plain["input_ids"], ours["input_ids"])
    with torch.no_grad():
        assert torch.equal(backbone(**plain).logits, model(**ours).logits[..., : len(tokenizer)])
