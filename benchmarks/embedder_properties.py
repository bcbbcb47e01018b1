"""The nine properties that BitTokens (Kreitner et al. 2026) wants of a number's vector, measured for every embedder.

    python benchmarks/embedder_properties.py

The paper describes them in words; the measures are ours. Weights are fresh (seed 0) and nothing is trained, so this is
an embedder's output before the first training step, not what a trained model makes of it.

1. Token efficiency: vectors that a number takes; one for every embedder.
2. Uniqueness: share of 5,700 different numbers (integers, prices, 15-digit numbers, both signs) whose float32 vector no
   other number has.
3. Structure: R² on held-out numbers of a ridge regression from the vector to log10(x), for x in 10^-6 to 10^9.
4. Scale range: decades out of 601 (10^-300 to 10^300) in which 1 to 9 times the power of ten have distinct vectors.
5. Normalisation: largest length of a vector over the median length, for x in 10^-12 to 10^12. 1 is best.
6. Low precision: as 2, for the vector rounded to bfloat16.
7. Continuity: largest relative change of the vector in a step of a walk from 0.9 to 11 in 4,000 equal ratios (0.06 %),
   whole numbers included. A smooth embedder changes by about as much as x does.
8. Robustness: median error, in decades, of the nearest of 2,000 candidates in 10^-3 to 10^6 after noise of a tenth of
   the vectors' spread. 0 is best; a guess in the middle is 2.25 off.
9. Arithmetic: R² on held-out pairs from 1 to 999 of a ridge regression from both vectors and their elementwise product
   to the sum and to the product.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

import harness
import torch
from torch import Tensor

from numerate.processing.number_table import NumberTable
from numerate.registry import embedders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.embedders.base import Embedder


class Desiderata(NamedTuple):
    """The measures of one embedder, see the docstring of the module."""

    tokens: int
    unique: float
    structure: float
    decades: int
    norm_ratio: float
    unique_bf16: float
    jump: float
    noise_error: float
    sum_r2: float
    product_r2: float


def measure(embedder: Embedder, seed: int = 0) -> Desiderata:
    """Measures one embedder in eval mode, on the CPU."""
    draw, embedder = random.Random(seed), embedder.eval()
    with torch.no_grad():
        different = _vectors(embedder, _different_numbers(draw))
        return Desiderata(
            tokens=1,
            unique=_unique(different).float().mean().item(),
            structure=_structure(embedder, draw),
            decades=_decades(embedder),
            norm_ratio=_norm_ratio(embedder, draw),
            unique_bf16=_unique(different.bfloat16()).float().mean().item(),
            noise_error=_noise_error(embedder),
            **_arithmetic(embedder, draw),
            jump=_jump(embedder),
        )


def _vectors(embedder: Embedder, values: Sequence[float]) -> Tensor:
    return embedder(NumberTable.of_values(values))


def _unique(vectors: Tensor) -> Tensor:
    """(N,) bool: rows that are equal to no other row."""
    _, group, count = vectors.float().unique(dim=0, return_inverse=True, return_counts=True)
    return count[group] == 1


def _different_numbers(draw: random.Random) -> list[float]:
    integers = [float(n) for n in range(2000)] + [float(draw.randrange(10**14, 10**15)) for _ in range(1000)]
    prices = [n / 100 for n in range(5, 20000, 10)]
    return sorted({*integers, *prices, *(-n for n in integers[1:200]), *(-p for p in prices[:500])})


def _log_uniform(draw: random.Random, low: float, high: float, count: int) -> list[float]:
    return [10 ** draw.uniform(low, high) for _ in range(count)]


def _ridge_r2(features: Tensor, target: Tensor, n_train: int) -> float:
    """R² on the rows after `n_train` of a ridge regression on the rows before; 0 where it is worse than the mean."""
    features, target = features.double(), target.double()
    features = (features - features[:n_train].mean(0)) / features[:n_train].std(0).clamp_min(1e-12)
    features = torch.cat([features, torch.ones(len(features), 1, dtype=torch.float64)], dim=-1)
    seen, unseen = features[:n_train], features[n_train:]
    penalty = 1e-4 * n_train * torch.eye(features.shape[-1], dtype=torch.float64)
    weights = torch.linalg.solve(seen.T @ seen + penalty, seen.T @ target[:n_train])
    truth = target[n_train:]
    error = (unseen @ weights - truth).square().sum() / (truth - truth.mean()).square().sum()
    return max(0.0, 1 - error.item())


def _structure(embedder: Embedder, draw: random.Random) -> float:
    values = _log_uniform(draw, -6, 9, 3000)
    return _ridge_r2(_vectors(embedder, values), torch.tensor(values, dtype=torch.float64).log10(), 2000)


def _decades(embedder: Embedder) -> int:
    values = [float(f"{digit}e{power}") for power in range(-300, 301) for digit in range(1, 10)]
    return int(_unique(_vectors(embedder, values)).reshape(-1, 9).all(dim=-1).sum())


def _norm_ratio(embedder: Embedder, draw: random.Random) -> float:
    lengths = _vectors(embedder, _log_uniform(draw, -12, 12, 2000)).double().norm(dim=-1)
    return (lengths.max() / lengths.median()).item()


def _jump(embedder: Embedder) -> float:
    walk = sorted({0.9 * (11 / 0.9) ** (k / 4000) for k in range(4001)} | {float(n) for n in range(1, 12)})
    vectors = _vectors(embedder.double(), walk)
    embedder.float()
    return (vectors.diff(dim=0).norm(dim=-1) / vectors[1:].norm(dim=-1).clamp_min(1e-12)).max().item()


def _noise_error(embedder: Embedder) -> float:
    values = [10 ** (-3 + 9 * k / 1999) for k in range(2000)]
    vectors = _vectors(embedder, values).double()
    spread = vectors.std(0).square().mean().sqrt()
    noise = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    # Ties go to a candidate in the middle, so that "all alike" is chance and not the first.
    distance = torch.cdist(vectors + 0.1 * spread * noise, vectors)
    distance += 1e-9 * (torch.arange(2000) - 1000).abs() / 1000
    return (9 / 1999 * (distance.argmin(-1) - torch.arange(2000)).abs().double().median()).item()


def _arithmetic(embedder: Embedder, draw: random.Random) -> dict[str, float]:
    first, second = ([float(draw.randrange(1, 1000)) for _ in range(5000)] for _ in range(2))
    a, b = _vectors(embedder, first).double(), _vectors(embedder, second).double()
    features = torch.cat([a, b, a * b], dim=-1)
    x, y = torch.tensor(first), torch.tensor(second)
    return {"sum_r2": _ridge_r2(features, x + y, 4000), "product_r2": _ridge_r2(features, x * y, 4000)}


_HEADER = (
    "embedder | 1 tokens | 2 unique | 3 structure R² | 4 decades of 601 | 5 length max/median | 6 unique in bf16 | "
    "7 largest step | 8 noise error, decades | 9 sum R² | 9 product R²"
)


def markdown(rows: dict[str, Desiderata]) -> str:
    """A Markdown table of measures by embedder."""
    lines = [f"| {_HEADER} |", "|---" * (_HEADER.count("|") + 1) + "|"]
    for name, row in rows.items():
        cells = [
            *(f"`{name}`", str(row.tokens), f"{row.unique:.1%}", f"{row.structure:.3f}", str(row.decades)),
            *(f"{row.norm_ratio:.3g}", f"{row.unique_bf16:.1%}", f"{row.jump:.1e}", f"{row.noise_error:.2f}"),
            *(f"{row.sum_r2:.3f}", f"{row.product_r2:.3f}"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--dim", type=int, default=128, help="width of the vectors")
    parser.add_argument("--embedder", action="append", choices=embedders.names(), help="an embedder; without, all")
    options = parser.parse_args(arguments)
    rows = {}
    for name in options.embedder or embedders.names():
        torch.manual_seed(0)
        rows[name] = measure(embedders[name].build(options.dim))
    print(markdown(rows))
    harness.write(options, {name: row._asdict() for name, row in rows.items()})


if __name__ == "__main__":
    main()
