"""IEEE-754 bits against the struct module, and the embedders over them."""

from __future__ import annotations

import math
import random
import struct

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.ieee_bits import BitsEmbedder, FloatEmbedder, ieee_bits

from .examples import EXTREMES, table

LARGEST = {"e": 65504.0, "f": 3.4028234663852886e38, "d": 1.7976931348623157e308}
CODES = {16: "e", 32: "f", 64: "d"}


def by_struct(value: float, n_bits: int) -> str:
    code = CODES[n_bits]
    if math.isnan(value):
        value = math.nan
    elif math.isfinite(value):
        value = max(-LARGEST[code], min(LARGEST[code], value))
    return "".join(f"{byte:08b}" for byte in struct.pack(">" + code, value))


def ours(values: list[float], n_bits: int) -> list[str]:
    bits = ieee_bits(torch.tensor(values, dtype=torch.float64), n_bits)
    return ["".join(map(str, row)) for row in bits.tolist()]


def test_bits_equal_struct() -> None:
    draw = random.Random(0)
    values = [*EXTREMES, *(draw.uniform(-1, 1) * 10 ** draw.uniform(-8, 6) for _ in range(3000))]
    # Almost halfway between two float16 numbers: rounding by way of float32 would get these wrong.
    values += [(1 + 2**-11) * (1 + sign * 2**-40) for sign in (1, -1)] + [(1 + 3 * 2**-11) * (1 - 2**-40)]
    for n_bits in (16, 32, 64):
        assert ours(values, n_bits) == [by_struct(value, n_bits) for value in values], n_bits
    assert ours([-28.5], 32) == ["1" + "10000011" + "11001000000000000000000"], "the example of the paper"
    assert ours([3.5e38, math.inf], 32) == ["0" + "1" * 7 + "0" + "1" * 23, "0" + "1" * 8 + "0" * 23]


def test_float_follows_the_formula_of_the_paper() -> None:
    for dim, count in ((768, 1_204_224), (1024, 2_129_920)):
        assert sum(p.numel() for p in FloatEmbedder.build(dim).parameters()) == count
    embedder = FloatEmbedder.build(8)
    w1, w2, w3 = embedder.first.weight, embedder.blocks[0][0].weight, embedder.blocks[0][2].weight
    bits = torch.tensor([[float(bit) for bit in by_struct(-28.5, 32)]])
    x1 = torch.relu(bits @ w1.T)
    x2 = torch.relu(x1 @ w2.T) @ w3.T
    torch.testing.assert_close(embedder(table([-28.5])), torch.relu(x1 + x2))


def test_float_options() -> None:
    for options in ({"blocks": 0}, {"blocks": 3}, {"residual": False}, {"bits": 16}, {"bits": 64}):
        embedder = FloatEmbedder.build(8, **options)
        assert len(embedder.blocks) == options.get("blocks", 1)
        assert embedder(table(EXTREMES)).shape == (len(EXTREMES), 8)
        assert embedder.first.in_features == options.get("bits", 32)


def test_bits_padded() -> None:
    embedder = BitsEmbedder.build(130, map="pad", reciprocal=True)
    vectors = embedder(table([-28.5, 0.0]))
    expected = [1.0 if bit == "1" else -1.0 for bit in by_struct(-28.5, 64) + by_struct(1 / -28.5, 64)] + [0.0, 0.0]
    assert vectors[0].tolist() == expected
    infinity = [1.0 if bit == "1" else -1.0 for bit in by_struct(math.inf, 64)]
    assert vectors[1, 64:128].tolist() == infinity
    assert list(embedder.parameters()) == []

    one, other = BitsEmbedder.build(64, map="pad")(table([0.1 + 0.2, 0.3]))
    assert not torch.equal(one, other), "all float64 have different bits"


def test_invalid_options_are_quoted() -> None:
    for build, message in (
        (lambda: BitsEmbedder.build(63, map="pad"), "dim must be at least 64, got 63"),
        (lambda: BitsEmbedder.build(64, bits=8), "bits is 8"),
        (lambda: FloatEmbedder.build(64, blocks=-1), "blocks must not be negative, got -1"),
    ):
        with pytest.raises(ConfigError, match=message):
            build()


def test_bittokens_as_released() -> None:
    """Bits of x and 1/x as -1 and 1, padded with zeros, times sqrt(d / columns): the mean square is 1."""
    values, dim = [3.0, -0.1, 1e-7, 65536.0, 12345.678], 300
    embedder = BitsEmbedder.build(dim, map="pad", reciprocal=True, scaled=True)
    found = embedder(table(values)).double()
    for row, value in zip(found, values, strict=True):
        signs = [2.0 * int(bit) - 1 for bit in by_struct(value, 64) + by_struct(1 / value, 64)]
        expected = [math.sqrt(dim / 128) * sign for sign in signs] + [0.0] * (dim - 128)
        assert row.tolist() == pytest.approx(expected, rel=1e-6)
        assert row.square().mean().item() == pytest.approx(1.0, rel=1e-6)
    assert not list(embedder.parameters())


def test_bits_are_padded_where_there_is_room() -> None:
    wide = BitsEmbedder.build(128, map="auto", reciprocal=True, scaled=True)
    assert wide.project is None and torch.equal(
        wide(table([2.5])), BitsEmbedder.build(128, map="pad", reciprocal=True, scaled=True)(table([2.5]))
    )
    narrow = BitsEmbedder.build(127, map="auto", reciprocal=True, scaled=True)
    assert narrow.project is not None and narrow.project.in_features == 128
    with pytest.raises(ConfigError, match="scaled needs map='pad' or 'auto', got"):
        BitsEmbedder.build(128, scaled=True)
