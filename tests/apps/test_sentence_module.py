"""`NumberTransformer`: token embeddings, saving, and its use in sentence-transformers, where that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, PLAIN, new_backbone, tokenizer_of

import numerate
from numerate import NumberTransformer

if TYPE_CHECKING:
    from pathlib import Path


def opened(module: NumberTransformer) -> NumberTransformer:
    """With number vectors that matter, as after training."""
    gate: Any = module.model.gate
    torch.nn.init.ones_(gate.weight if hasattr(gate, "weight") else next(gate.parameters()))
    return module.eval()


@pytest.fixture(scope="module")
def words() -> NumberTransformer:
    torch.manual_seed(0)
    return opened(NumberTransformer(new_backbone("bert"), tokenizer_of("bert")))


def test_tokens_are_embedded_with_their_numbers(words: NumberTransformer) -> None:
    features = words.preprocess(NUMBERS)
    assert words.get_embedding_dimension() == words.get_word_embedding_dimension() == 32
    with torch.no_grad():
        found = words(dict(features))
        bare = words.model.backbone(**tokenizer_of("bert")(PLAIN, padding=True, return_tensors="pt"))
        plain = words(words.tokenize(PLAIN))
    assert found["token_embeddings"].shape == (*features["input_ids"].shape, 32)
    assert found.keys() == features.keys() | {"token_embeddings"}
    assert torch.equal(plain["token_embeddings"], bare.last_hidden_state), "text without numbers is unchanged"
    assert words.model.head is None


def test_prompts_pairs_and_lengths(words: NumberTransformer) -> None:
    assert (
        words.preprocess(["a"], prompt="query: ")["input_ids"].shape[1] > words.preprocess(["a"])["input_ids"].shape[1]
    )
    pair = words.preprocess([("It cost 5.", "It cost 6.")])
    assert pair["token_type_ids"].max() == 1 and pair["number_bits"].shape == (1, 2)
    assert words.max_seq_length == 128
    assert words.preprocess([" ".join(NUMBERS) * 9])["input_ids"].shape == (1, 128)


def test_saved_and_loaded(words: NumberTransformer, tmp_path: Path) -> None:
    words.save(str(tmp_path))
    again = NumberTransformer.load(str(tmp_path)).eval()
    with torch.no_grad():
        first, second = (each(each.preprocess(NUMBERS))["token_embeddings"] for each in (words, again))
    assert torch.allclose(first, second, atol=1e-6) and again.max_seq_length == words.max_seq_length


def test_only_encoders() -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"))
    with pytest.raises(TypeError, match="bare encoder, got 'masked-lm'"):
        NumberTransformer(model)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_in_sentence_transformers(words: NumberTransformer, tmp_path: Path) -> None:
    package = pytest.importorskip("sentence_transformers")
    from sentence_transformers.models import Pooling

    model = package.SentenceTransformer(modules=[words, Pooling(words.get_word_embedding_dimension())], device="cpu")
    near, same, far = model.encode(["It cost 100 euros.", "It cost 100 euros.", "It cost 9,000,000 euros."])
    assert near.shape == (32,) and abs(near - same).max() < 1e-5 and abs(near - far).max() > 1e-3
    model.save(str(tmp_path / "st"))
    again = package.SentenceTransformer(str(tmp_path / "st"), device="cpu", trust_remote_code=True)
    assert abs(again.encode("It cost 100 euros.") - near).max() < 1e-5
