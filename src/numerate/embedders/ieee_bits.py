"""IEEE-754 bit embedders: a residual network over the bits, or the bits themselves (BitTokens)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable
from numerate.embedders.option_checks import check_dim, check_option
from numerate.registry import embedders

__all__ = ["BitsConfig", "BitsEmbedder", "FloatConfig", "FloatEmbedder", "ieee_bits"]

_FORMATS: dict[int, tuple[torch.dtype, torch.dtype, int]] = {
    16: (torch.float16, torch.int16, 0x7E00),
    32: (torch.float32, torch.int32, 0x7FC00000),
    64: (torch.float64, torch.int64, 0x7FF8000000000000),
}
"""By number of bits: floating type, integer type of the same size, bit pattern of the canonical NaN."""
_DROPPED = (1 << 29) - 1
"""Mask of the fraction bits that float64 has and float32 has not."""


def ieee_bits(values: Tensor, n_bits: int) -> Tensor:
    """Bits of float64 values rounded to an IEEE format of `n_bits`: sign, exponent, fraction, most significant first.

    Rounds once, to nearest, ties to even. Finite values too large for the format become its largest finite value,
    infinities stay infinite, every NaN becomes the positive quiet NaN, -0 keeps its sign.

    Shape:
        Input: float64 (N,). Output: int64 (N, n_bits) of 0 and 1.

    Example:
        >>> "".join(map(str, ieee_bits(torch.tensor([-28.5], dtype=torch.float64), 16)[0].tolist()))
        '1100111100100000'
    """
    floating, integer, canonical_nan = _FORMATS[n_bits]
    nan = values.isnan()
    largest = torch.finfo(floating).max
    values = torch.where(values.isinf(), values, values.clamp(-largest, largest))
    if n_bits == 16:
        # PyTorch converts by way of float32, which rounds twice: a sticky last bit stands for the dropped ones.
        pattern = values.view(torch.int64)
        sticky = ((pattern & _DROPPED) != 0).to(torch.int64) << 29
        values = ((pattern & ~_DROPPED) | sticky).view(torch.float64)
    pattern = values.to(floating).view(integer).to(torch.int64).masked_fill(nan, canonical_nan)
    shifts = torch.arange(n_bits - 1, -1, -1, device=values.device)
    return (pattern[:, None] >> shifts) & 1


@dataclass(frozen=True, kw_only=True)
class FloatConfig(Config):
    """Options of `float`.

    Attributes:
        bits: Size of the IEEE format: 16, 32 (the paper's) or 64.
        blocks: Number of residual blocks of two layers after the first layer; 1 is the paper's LRLRLR.
        residual: Add each block's output to its input.
    """

    kind: ClassVar[str] = "float"
    bits: Literal[16, 32, 64] = 32
    blocks: int = 1
    residual: bool = True

    def __post_init__(self) -> None:
        check_option(self.blocks >= 0, self, "blocks must not be negative", "blocks")


@embedders.register("float")
class FloatEmbedder(Embedder):
    """IEEE-754 bits (0 and 1) through a residual network without biases (Floating-Point Embedding, Symmetry 2024).

    Numbers are rounded to float32 (or `bits`): 16777217 and 16777216 share a vector. Finite overflow is clamped to the
    largest finite number; 0 is the all-zero pattern and, without biases, gets the zero vector; -0 and negatives have
    the sign bit; every NaN is the canonical one. Outputs are not negative.

    Example:
        >>> embedder = FloatEmbedder.build(dim=768)
        >>> sum(p.numel() for p in embedder.parameters())
        1204224
    """

    Config = FloatConfig
    outermost = ("first",)  # later layers have no bias, and ReLU is positively homogeneous

    def __init__(self, dim: int, config: FloatConfig) -> None:
        super().__init__(dim, config)
        self.bits = config.bits
        self.residual = config.residual
        self.first = nn.Linear(config.bits, dim, bias=False)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim, bias=False), nn.ReLU(), nn.Linear(dim, dim, bias=False))
            for _ in range(config.blocks)
        )

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        vectors = self.first(self._cast(ieee_bits(numbers.values(), self.bits))).relu()
        for block in self.blocks:
            vectors = (vectors + block(vectors) if self.residual else block(vectors)).relu()
        return vectors


@dataclass(frozen=True, kw_only=True)
class BitsConfig(Config):
    """Options of `bits`.

    Attributes:
        bits: Size of the IEEE format: 64 (the paper's), 32 or 16.
        reciprocal: Append the bits of 1/x, which helps division.
        map: "linear", a learned matrix; "pad", the bits padded with zeros, without weights, as released; "auto", "pad"
            where the vector has room for all bits, otherwise "linear".
        scaled: Multiply padded bits by sqrt(dim / columns), as released, so that their mean square is 1.
    """

    kind: ClassVar[str] = "bits"
    bits: Literal[16, 32, 64] = 64
    reciprocal: bool = False
    map: Literal["linear", "pad", "auto"] = "linear"
    scaled: bool = False

    def __post_init__(self) -> None:
        wrong = self.scaled and self.map == "linear"
        check_option(not wrong, self, "scaled needs map='pad' or 'auto'", "map")


@embedders.register("bits")
class BitsEmbedder(Embedder):
    """IEEE-754 bits as -1 and 1, zero-padded or through a learned matrix (BitTokens, Kreitner et al. 2026).

    With 64 bits every float64 has a vector of its own. 0 is all -1 (not the zero vector), -0 and negatives have the
    sign bit, infinities have their IEEE pattern, every NaN is the canonical one. 1/0, and 1/x for |x| < 5.6e-309, is
    infinity. Formats of 16 and 32 bits clamp finite overflow to their largest finite number.

    As released: `map="pad"`, `scaled`, `reciprocal`, and the placement `replace` (the recipe `bittokens`).

    Shape: N numbers to `(N, dim)`; with `map="pad"` dim must be at least 64 (128 with `reciprocal`).

    Example:
        >>> BitsEmbedder.build(dim=66, map="pad")(NumberTable.of_values([-2.0]))[0, :4].tolist()
        [1.0, 1.0, -1.0, -1.0]
    """

    Config = BitsConfig
    outermost = ("project",)

    def __init__(self, dim: int, config: BitsConfig) -> None:
        super().__init__(dim, config)
        self.bits = config.bits
        self.reciprocal = config.reciprocal
        columns = config.bits * (2 if config.reciprocal else 1)
        check_dim(dim, columns if config.map == "pad" else 1)
        linear = config.map == "linear" or (config.map == "auto" and dim < columns)
        self.project = nn.Linear(columns, dim, bias=False) if linear else None
        self.size = math.sqrt(dim / columns) if config.scaled else 1.0

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        values = numbers.values()
        bits = ieee_bits(values, self.bits)
        if self.reciprocal:
            bits = torch.cat([bits, ieee_bits(values.reciprocal(), self.bits)], dim=-1)
        signs = self._cast(2 * bits - 1)
        if self.project is None:
            return nn.functional.pad(self.size * signs, (0, self.dim - signs.shape[-1]))
        return self.project(signs)
