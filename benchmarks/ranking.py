"""Speed of ranking 10,000 candidate numerals for 1,000 contexts, against scoring one candidate at a time.

    python benchmarks/ranking.py [--json results/ranking.json]

`digit-rnn` shares common prefixes of candidates (a trie) and drops prefixes that cannot win; `mog` uses one table of
candidates and components and a matrix product. The baseline scores one candidate at a time with the same weights, all
contexts in one batch, without what can be computed in advance (strings and probabilities of decimals). This takes
minutes, so each round scores a random sample of the candidates and its time is scaled to all of them. Candidates are
those of the number-line evaluation: values with 0 to 4 decimals. The heads are trained for some steps, because a flat
distribution is ranked faster. Figures are ratios of CPU time (`time.process_time`), medians of interleaved rounds.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import harness
import torch

from numerate.heads.digit_rnn import DigitDistribution, DigitRNNHead
from numerate.heads.mog import MogHead
from numerate.heads.number_strings import strings_of
from numerate.heads.precision import WrittenDistribution, decimals_of
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from numerate.heads.base import Head

BAR = 5.0
DECIMALS = 5
KINDS = 4
"""Kinds of context: years, ages, prices and heavy-tailed counts."""


def value(kind: int, draw: random.Random) -> float:
    if kind == 0:
        return draw.randint(1900, 2025)
    if kind == 1:
        return draw.gauss(60, 15)
    return draw.lognormvariate(3, 1) if kind == 2 else draw.lognormvariate(4, 3)


def numerals(texts: list[str]) -> NumberTable:
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def candidates(count: int, draw: random.Random) -> NumberTable:
    """Distinct numerals: values of all kinds, each with 0 to 4 decimals."""
    texts: dict[str, None] = {}
    while len(texts) < count:
        drawn = abs(value(draw.randrange(KINDS), draw))
        texts |= {f"{drawn:.{decimals}f}": None for decimals in range(DECIMALS)}
    return numerals(list(texts)[:count])


def contexts(kinds: list[int], dim: int, seed: int) -> torch.Tensor:
    """Hidden states that encode the kind, with noise."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(KINDS, dim, generator=torch.Generator().manual_seed(0))
    return centres[torch.tensor(kinds)] + 0.3 * torch.randn(len(kinds), dim, generator=generator)


def train(head: Head, dim: int, steps: int, draw: random.Random) -> None:
    kinds = [draw.randrange(KINDS) for _ in range(2000)]
    written = [f"{abs(value(kind, draw)):.{(0, 0, 2, 0)[kind]}f}" for kind in kinds]
    numbers, hidden = numerals(written), contexts(kinds, dim, seed=1)
    head.fit(numbers)
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
    for step in range(steps):
        some = torch.arange(step * 256, step * 256 + 256) % len(kinds)
        optimizer.zero_grad()
        head.loss(hidden[some], numbers[some]).mean().backward()
        optimizer.step()


def digits_one_by_one(distribution: DigitDistribution, strings: torch.Tensor) -> torch.Tensor:
    rows = len(distribution)
    return torch.stack([distribution.log_prob_strings(string.expand(rows, -1)) for string in strings], dim=1)


def mog_one_by_one(distribution: WrittenDistribution, table: NumberTable, log_decimals: torch.Tensor) -> torch.Tensor:
    """Scores one candidate at a time for all contexts, with the mass of each component computed once."""
    weights, components = distribution.values.log_weights, distribution.values.components  # type: ignore[attr-defined]
    values, decimals, columns = table.values(), decimals_of(table), []
    for index in range(len(table)):
        masses = components.log_masses(values[index], table.precision[index])
        columns.append(torch.logsumexp(weights + masses, dim=-1) + log_decimals[:, decimals[index]])
    return torch.stack(columns, dim=1)


@torch.no_grad()
def figures(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    draw = random.Random(arguments.seed)
    table = candidates(arguments.candidates, draw)
    torch.manual_seed(arguments.seed)
    digit_rnn, mog = DigitRNNHead.build(arguments.dim), MogHead.build(arguments.dim)
    for head in (digit_rnn, mog):
        with torch.enable_grad():
            train(head, arguments.dim, arguments.steps, draw)
    hidden = contexts([draw.randrange(KINDS) for _ in range(arguments.contexts)], arguments.dim, seed=2)
    digits, gaussians = digit_rnn(hidden), mog(hidden)
    strings, log_decimals = strings_of(table), gaussians.log_decimals()
    size = min(arguments.sample, len(table))
    samples = [torch.tensor(draw.sample(range(len(table)), k=size)) for _ in range(arguments.rounds)]
    runs: dict[str, Callable[[int], Any]] = {
        "digit-rnn, one by one": lambda turn: digits_one_by_one(digits, strings[samples[turn]]),
        "digit-rnn, every score by the trie": lambda _: digits.scores(table).topk(arguments.best),
        "digit-rnn, rank": lambda _: digits.rank(table, arguments.best),
        "mog, one by one": lambda turn: mog_one_by_one(gaussians, table[samples[turn]], log_decimals),
        "mog, rank": lambda _: gaussians.rank(table, arguments.best),
    }
    took = harness.interleaved(runs, arguments.rounds, warm=0)
    some, close = samples[-1], {"rtol": 1e-4, "atol": 1e-3}  # the fast ways must give the same scores
    torch.testing.assert_close(digits.scores(table[some]), digits_one_by_one(digits, strings[some]), **close)
    torch.testing.assert_close(
        gaussians.scores(table[some]), mog_one_by_one(gaussians, table[some], log_decimals), **close
    )
    seconds = {name: timing.cpu * (len(table) / size if "one by one" in name else 1.0) for name, timing in took.items()}
    rows = []
    for name, taken in seconds.items():
        faster = seconds[f"{name.split(',')[0]}, one by one"] / max(taken, 1e-9)
        row = {"name": name, "seconds": round(taken, 2), "faster": round(faster, 1)}
        bar = BAR if name.endswith("rank") else None
        rows.append(row | {"bar": bar, "verdict": harness.verdict(faster, bar)})
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--contexts", type=int, default=1000, help="number of contexts")
    parser.add_argument("--candidates", type=int, default=10_000, help="number of candidate numerals")
    parser.add_argument("--best", type=int, default=10, help="number of candidates to find")
    parser.add_argument("--dim", type=int, default=50, help="width of the hidden states")
    parser.add_argument("--steps", type=int, default=150, help="training steps before the ranking")
    parser.add_argument("--sample", type=int, default=100, help="candidates that are scored one by one")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the medians")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and candidates")
    options = parser.parse_args(arguments)
    rows = figures(options)
    for row in rows:
        bar = "" if row["bar"] is None else f"at least {row['bar']:g}x {row['verdict']}"
        print(f"{row['name']:36} {row['seconds']:8.2f} s   {row['faster']:7.1f}x   {bar}")
    harness.write(options, rows)


if __name__ == "__main__":
    main()
