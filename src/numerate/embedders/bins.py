"""Binned embedders: a lookup table over logarithmic bins, and piecewise linear encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import (
    INITIAL_STD,
    Embedder,
    NumberTable,
    as_bits,
    finite_values,
    full_precision,
    quantiles,
    signed_log,
    size_bits,
)
from numerate.embedders.option_checks import check_option, check_positive
from numerate.processing.number_table import float_values
from numerate.registry import embedders

__all__ = ["ExponentConfig", "ExponentEmbedder", "PiecewiseConfig", "PiecewiseEmbedder"]


@dataclass(frozen=True, kw_only=True)
class ExponentConfig(Config):
    """Options of `exponent`.

    Attributes:
        n_bins: Number of bins.
        low: Decimal exponent at which the first bin begins.
        high: Decimal exponent at which the last bin ends.
        sign: Add a learned vector to negatives; without it, x and -x share a vector.
        zero: Give 0 a bin of its own; without it, 0 falls into the first bin.
        fitted: `fit` moves the edges to the quantiles of |x|, so that all bins hold equally many numbers.
    """

    kind: ClassVar[str] = "exponent"
    n_bins: int = 200
    low: float = -4.0
    high: float = 6.0
    sign: bool = True
    zero: bool = True
    fitted: bool = False

    def __post_init__(self) -> None:
        check_positive(self, "n_bins")
        ordered = -300 <= self.low < self.high <= 300
        check_option(ordered, self, "low must be below high, both in [-300, 300]", "low", "high")


@embedders.register("exponent", "exp")
class ExponentEmbedder(Embedder):
    """Learned vector for each of N bins of |x|, evenly spaced in the logarithm (`Exp` of Thawani et al. 2021).

    A bin includes its upper edge and excludes its lower one (the paper's "nearest centre, ties to the lower"): 1 is in
    bin 79 of 200. |x| outside of the range, infinities included, falls into the first or last bin. Our additions: a bin
    for 0 and -0, a vector added to negatives, a bin for NaN. Edges are compared with |x| itself in float64, not with
    its rounded logarithm, so powers of ten fall into the right bin.

    Example:
        >>> ExponentEmbedder.build(dim=8).bin_ids(NumberTable.of_values([329, 1, 1e-9, 0])).tolist()
        [130, 79, 0, 200]
    """

    Config = ExponentConfig
    outermost = ("bins", "negative")
    edge_bits: Tensor

    def __init__(self, dim: int, config: ExponentConfig) -> None:
        super().__init__(dim, config)
        self.n_bins, self.zero, self.fitted = config.n_bins, config.zero, config.fitted
        self.signed = config.sign
        width = config.high - config.low
        edges = [10.0 ** (config.low + k * width / config.n_bins) for k in range(1, config.n_bins)]
        self.register_buffer("edge_bits", as_bits(torch.tensor(edges, dtype=torch.float64)))
        self.bins = nn.Embedding(config.n_bins + 2, dim)
        nn.init.normal_(self.bins.weight, std=INITIAL_STD)
        self.negative = nn.Parameter(torch.randn(dim) * INITIAL_STD) if config.sign else None

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """With `fitted`, moves the edges to the quantiles of |x| over finite values other than 0."""
        sizes = values.to(torch.float64).abs()
        sizes = sizes[sizes.isfinite() & (sizes > 0)]
        if self.fitted and len(sizes):
            self.edge_bits.copy_(as_bits(quantiles(sizes, self.n_bins + 1)[1:-1]))

    def bin_ids(self, numbers: NumberTable) -> Tensor:
        """The bin of each number, (N,) int64; n_bins is for zero, n_bins + 1 for NaN."""
        values = numbers.values()
        bins = torch.bucketize(size_bits(numbers.bits), self.edge_bits)
        if self.zero:
            bins = bins.masked_fill(values == 0, self.n_bins)
        return bins.masked_fill(values.isnan(), self.n_bins + 1)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        vectors = self.bins(self.bin_ids(numbers))
        if self.negative is None:
            return vectors
        return vectors + self._cast(numbers.values() < 0)[:, None] * self.negative


@dataclass(frozen=True, kw_only=True)
class PiecewiseConfig(Config):
    """Options of `piecewise`.

    Attributes:
        n_bins: Number of bins.
        variant: "B" starts as a linear embedding with the pieces at zero (TabM); "A" has the pieces alone.
        activation: ReLU on the piecewise part.
        scale: Axis of the bins: "log", sign(x) · log10(1 + |x| / unit); "none", x itself.
        unit: Size of x at which the logarithmic scale turns from linear to logarithmic.
        edges: Fixed edges in terms of x; by default they are evenly spaced, or quantiles after `fit`.
    """

    kind: ClassVar[str] = "piecewise"
    n_bins: int = 48
    variant: Literal["A", "B"] = "B"
    activation: bool = False
    scale: Literal["log", "none"] = "log"
    unit: float = 1.0
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_positive(self, "n_bins", "unit")
        check_option(self.edges != (), self, "edges must not be empty", "edges")


@embedders.register("piecewise", "ple")
class PiecewiseEmbedder(Embedder):
    """Piecewise linear encoding, then a linear map (Gorishniy et al. 2022; variant B: TabM 2024).

    Component t is 0 left of bin t, 1 right of it, and rises linearly inside it; the first and the last component
    continue linearly outside of the edges, up to ±1000. Edges are quantiles after `fit`, and evenly spaced over ±12 on
    the scale (about ±10^12) before. Equal edges are merged and constant data get one bin of width 1, so `fit` accepts
    any data. Continuous through 0; -0 and NaN are 0; infinities and overflow are the largest float64.

    Example:
        >>> embedder = PiecewiseEmbedder.build(dim=8, edges=(0, 1, 2, 4), scale="none")
        >>> embedder.encode(NumberTable.of_values([-1, 1.5, 3])).tolist()
        [[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 1.0, 0.5]]
    """

    Config = PiecewiseConfig
    outermost = ("linear", "linear0")
    continuous = True
    through_zero = True
    left_bits: Tensor
    width_bits: Tensor

    def __init__(self, dim: int, config: PiecewiseConfig) -> None:
        super().__init__(dim, config)
        self.scale, self.unit, self.fitted = config.scale, config.unit, config.edges is None
        self.n_bins = config.n_bins if config.edges is None else max(1, len(config.edges) - 1)
        self.register_buffer("left_bits", torch.zeros(self.n_bins, dtype=torch.int64))
        self.register_buffer("width_bits", torch.zeros(self.n_bins, dtype=torch.int64))
        if config.edges is None:
            self._set_edges(torch.linspace(-12, 12, self.n_bins + 1, dtype=torch.float64))
        else:
            self._set_edges(self._scaled(torch.tensor(config.edges, dtype=torch.float64)))
        bound = self.n_bins**-0.5
        self.linear0 = nn.Linear(1, dim) if config.variant == "B" else None
        self.linear = nn.Linear(self.n_bins, dim, bias=config.variant == "A")
        if self.linear0 is None:
            nn.init.uniform_(self.linear.weight, -bound, bound)
        else:
            nn.init.zeros_(self.linear.weight)
            nn.init.uniform_(self.linear0.weight, -(dim**-0.5), dim**-0.5)
            nn.init.uniform_(self.linear0.bias, -(dim**-0.5), dim**-0.5)
        self.activation = nn.ReLU() if config.activation else nn.Identity()

    def _scaled(self, values: Tensor) -> Tensor:
        return signed_log(values, self.unit) if self.scale == "log" else values

    def _set_edges(self, edges: Tensor) -> None:
        """Stores the bins between merged edges, the last bin last; unused bins get infinite width and are always 0."""
        edges = edges.unique()
        if len(edges) == 1:
            edges = torch.cat([edges - 0.5, edges + 0.5])
        left, width, used = edges[:-1], edges.diff(), len(edges) - 1
        lefts, widths = left.new_zeros(self.n_bins), left.new_full((self.n_bins,), torch.inf)
        lefts[: used - 1], widths[: used - 1] = left[:-1], width[:-1]
        lefts[-1], widths[-1] = left[-1], width[-1]
        self.left_bits.copy_(as_bits(lefts))
        self.width_bits.copy_(as_bits(widths))

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """Moves the edges to the quantiles of the finite values, unless the config gave edges."""
        values = values.to(torch.float64)
        values = values[values.isfinite()]
        if self.fitted and len(values):
            self._set_edges(quantiles(self._scaled(values), self.n_bins + 1))

    def encode(self, numbers: NumberTable) -> Tensor:
        """The piecewise linear encoding itself, float64 (N, n_bins)."""
        scaled = self._scaled(finite_values(numbers)[0])
        left, width = float_values(self.left_bits), float_values(self.width_bits)
        pieces = (scaled[:, None] - left) / width
        low, high = torch.zeros_like(left), torch.ones_like(left)
        # In place and without a number from the host, so that a CUDA graph can record it.
        low[:1].fill_(-1000.0)
        high[-1:].fill_(1000.0)
        low[-1:].masked_fill_(width[:-1].isinf().all(), -1000.0)
        return pieces.clamp(low, high)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        with full_precision(numbers.bits):
            vectors = self.activation(self.linear(self._cast(self.encode(numbers))))
            if self.linear0 is None:
                return vectors
            scaled = self._cast(self._bounded(self._scaled(finite_values(numbers)[0])))
            return vectors + self.linear0(scaled[:, None])
