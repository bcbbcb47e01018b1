"""Character-level embedders: parameter counts of LUNA, digit places, packing, the gate of 2018."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.characters import CharFormerEmbedder, CharLSTMEmbedder, digit_places, recurrent_summary
from numerate.embedders.gated import GatedCharsEmbedder
from numerate.processing.number_table import NumberTable, encode_characters
from numerate.processing.static_shapes import Counts, fixed_counts
from numerate.registry import embedders

from .examples import table


def written(*texts: str) -> NumberTable:
    longest = max(map(len, texts))
    rows = [encode_characters(text) + [0] * (longest - len(text)) for text in texts]
    numbers = table([float(text.replace(",", "")) for text in texts])
    return dataclasses.replace(numbers, characters=torch.tensor(rows, dtype=torch.uint8))


def count(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


LSTM_COUNTS = [
    ({"size": "0.1M"}, 768, 93_024),
    ({"size": "0.1M"}, 1024, 101_472),
    ({"size": "1M"}, 768, 1_156_224),
    ({"size": "1M"}, 1024, 1_189_248),
    ({"size": "9M"}, 768, 9_193_328),
    ({"size": "9M"}, 1024, 9_246_832),
    ({"layers": 1}, 768, 365_696),
    ({"layers": 1}, 1024, 398_720),
    ({"size": "0.1M"}, 64, 69_792),
    ({"size": "1M", "hidden": 112}, 64, 817_552),
    ({"size": "9M", "hidden": 196}, 64, 8_035_084),
]
FORMER_COUNTS = [
    ({"size": "0.1M"}, 768, 117_144),
    ({"size": "0.1M"}, 1024, 119_448),
    ({"size": "1M"}, 768, 1_161_152),
    ({"size": "1M"}, 1024, 1_177_792),
    ({"size": "9M"}, 768, 8_867_712),
    ({"size": "9M"}, 1024, 8_900_736),
]


def test_parameter_counts_of_luna() -> None:
    with torch.device("meta"):
        for embedder, counts in ((CharLSTMEmbedder, LSTM_COUNTS), (CharFormerEmbedder, FORMER_COUNTS)):
            for options, dim, expected in counts:
                assert count(embedder.build(dim, **options)) == expected, (embedder, options, dim)
        assert CharLSTMEmbedder.build(8).characters.num_embeddings == 19


def test_digit_places() -> None:
    for text, places in (
        ("1,234.56", [4, 0, 3, 2, 1, 0, 11, 12]),
        ("-7", [0, 1]),
        (".5%", [0, 11, 0]),
        ("12345678901234", [10, 10, 10, 10, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        ("0.123456789012", [1, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 20, 20]),
        ("1.5e-9", [1, 0, 11, 0, 0, 0]),
    ):
        found = digit_places(torch.tensor([[*encode_characters(text), 0, 0]]))[0].tolist()
        assert found == [*places, 0, 0], text


def test_char_lstm_equals_the_unpadded_network() -> None:
    embedder = CharLSTMEmbedder.build(8, size="0.1M")
    together = embedder(written("1,234.5", "-7", "12"))
    for row, text in enumerate(["1,234.5", "-7", "12"]):
        states = embedder.lstm(embedder.characters(torch.tensor([encode_characters(text)])))[1][0]
        torch.testing.assert_close(together[row], embedder.out(states.mean(0))[0], atol=1e-6, rtol=0)


def test_written_forms_of_one_value_have_different_vectors() -> None:
    for kind in (CharLSTMEmbedder, CharFormerEmbedder, GatedCharsEmbedder):
        vectors = kind.build(8).eval()(written("1000", "1,000", "1e3"))
        assert len(vectors.unique(dim=0)) == 3


def test_gated_chars_gives_frequent_values_their_own_vectors() -> None:
    embedder = GatedCharsEmbedder.build(8, known=2)
    assert embedder.token_ids(written("7", "-0", "9")).tolist() == [2, 2, 2]
    embedder.fit(torch.tensor([7.0, 7.0, -0.0, 0.0, 9.0, float("nan")]))
    assert embedder.token_ids(written("7", "-0", "0", "7.00", "9")).tolist() == [1, 0, 0, 1, 2]
    embedder.fit(torch.tensor([5.0]))
    assert embedder.token_ids(written("5", "7")).tolist() == [0, 2]


def test_gated_chars_follows_the_formula_of_the_paper() -> None:
    embedder = GatedCharsEmbedder.build(50)
    numbers = written("3.14")
    token = embedder.tokens.weight[0]
    states = embedder.lstm(embedder.characters(torch.tensor([encode_characters("3.14")])))[1][0][0, 0]
    gate = torch.sigmoid(embedder.gate.weight @ torch.cat([token, states]) + embedder.gate.bias)
    torch.testing.assert_close(embedder(numbers)[0], (1 - gate) * token + gate * states)
    assert embedder.gate.weight.shape == (50, 100)


def test_invalid_options_are_quoted() -> None:
    for build, message in (
        (lambda: CharLSTMEmbedder.build(8, hidden=0), "hidden must be positive, got 0"),
        (lambda: CharFormerEmbedder.build(8, hidden=6), "multiple of the 4 heads, got 6"),
        (lambda: CharFormerEmbedder.build(8, dropout=1.0), "dropout must lie in"),
        (lambda: GatedCharsEmbedder.build(8, known=-1), "known must not be negative, got -1"),
        (lambda: GatedCharsEmbedder.build(8, hidden=0), "hidden must be positive, got 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            build()


def test_framed_characters() -> None:
    """As in the code of 2018: the LSTM reads a start sign, the characters and an end sign."""
    torch.manual_seed(0)
    embedder: Any = embedders["gated-chars"].build(8, hidden=8, framed=True)
    numbers = NumberTable.of_values([12.5, 7.0])
    plain: Any = embedders["gated-chars"].build(8, hidden=8)
    assert embedder.characters.num_embeddings == plain.characters.num_embeddings + 2
    start, end = plain.characters.num_embeddings, plain.characters.num_embeddings + 1
    token = embedder.tokens.weight[0]
    for row, text in enumerate(("12.5", "7")):
        ids = torch.tensor([start, *encode_characters(text), end])
        _, (last, _) = embedder.lstm(embedder.characters(ids)[None])
        written = last[0, 0]
        gate = torch.sigmoid(embedder.gate(torch.cat([token, written])))
        expected = (1 - gate) * token + gate * written
        torch.testing.assert_close(embedder(numbers)[row], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, True), (3, True)])
def test_the_exported_summary_equals_that_of_packed_sequences(
    layers: int, both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(5, 7, layers, batch_first=True, bidirectional=both)
    inputs, lengths = torch.randn(6, 9, 5), torch.tensor([9, 1, 4, 3, 9, 2])
    packed = recurrent_summary(lstm, inputs, lengths)
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    torch.testing.assert_close(recurrent_summary(lstm, inputs, lengths), packed)


@pytest.mark.parametrize("name", ["char-lstm", "char-former", "gated-chars"])
def test_recorded_steps_have_the_same_vectors_and_gradients(name: str) -> None:
    """In a CUDA graph sequences are not packed, because the host would need their lengths."""
    torch.manual_seed(0)
    embedder = embedders[name].build(dim=16)
    embedder.eval()  # without dropout
    numbers = NumberTable.of_values([1.0, -27.5, 1234567.25, 0.0, 3e-9])
    found = []
    for counts in (contextlib.nullcontext(), fixed_counts(Counts(numbers=0))):
        embedder.zero_grad()
        with counts:
            vectors = embedder(numbers)
        vectors.square().sum().backward()
        found.append(
            [vectors.detach(), *(weight.grad.clone() for weight in embedder.parameters() if weight.grad is not None)]
        )
    assert len(found[0]) == len(found[1]) > 2
    for usual, recorded in zip(*found, strict=True):
        torch.testing.assert_close(recorded, usual, rtol=1e-4, atol=1e-5)
