"""How fast the 10 best of 10,000 candidate numerals are found for 1,000 contexts: shared work against none, in one run.

    python benchmarks/ranking.py [--json results/ranking/ranking.json]

`digit-rnn` reads what candidates begin with alike once (a trie) and leaves beginnings that cannot win; `mog` makes one
table of candidates by components and a matrix product. Both are held against the same weights candidate by candidate,
all contexts in one batch, without any work that can be done before (strings and the probabilities of decimals). That
takes minutes, so a round has a seeded draw of the candidates, and its time is scaled up to all of them. Candidates are
those of the number-line evaluation: values in 0 to 4 decimals each. Heads are trained a little before, because a flat
distribution is ranked faster. Ratios are of CPU time (`time.process_time`), medians of interleaved rounds.
"""

from __future__ import annotations

import argparse
import random
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import machine
import torch

from numerate.heads.digit_rnn import DigitDistribution, DigitRNNHead
from numerate.heads.mog import MogHead
from numerate.heads.number_strings import strings_of
from numerate.heads.precision import WrittenDistribution, decimals_of
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.heads.base import Head

BAR = 5.0
DECIMALS = 5
KINDS = 4
"""Of context: years, ages, prices and heavy-tailed counts."""


def value(kind: int, draw: random.Random) -> float:
    if kind == 0:
        return draw.randint(1900, 2025)
    if kind == 1:
        return draw.gauss(60, 15)
    return draw.lognormvariate(3, 1) if kind == 2 else draw.lognormvariate(4, 3)


def numerals(texts: list[str]) -> NumberTable:
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def candidates(count: int, draw: random.Random) -> NumberTable:
    """Distinct numerals: values of all kinds, each in 0 to 4 decimals."""
    texts: dict[str, None] = {}
    while len(texts) < count:
        drawn = abs(value(draw.randrange(KINDS), draw))
        texts |= {f"{drawn:.{decimals}f}": None for decimals in range(DECIMALS)}
    return numerals(list(texts)[:count])


def contexts(kinds: list[int], dim: int, seed: int) -> torch.Tensor:
    """States that tell the kind, each with some noise."""
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


def seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def digits_one_by_one(distribution: DigitDistribution, strings: torch.Tensor) -> torch.Tensor:
    rows = len(distribution)
    return torch.stack([distribution.log_prob_strings(string.expand(rows, -1)) for string in strings], dim=1)


def mog_one_by_one(distribution: WrittenDistribution, table: NumberTable, log_decimals: torch.Tensor) -> torch.Tensor:
    """Each candidate's mass by each component once, for all contexts."""
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
    times: dict[str, list[float]] = {}
    scale = len(table) / min(arguments.sample, len(table))
    for _ in range(arguments.rounds):
        some = torch.tensor(draw.sample(range(len(table)), k=min(arguments.sample, len(table))))
        runs: dict[str, tuple[Callable[[], Any], float]] = {
            "digit-rnn, one by one": (lambda some=some: digits_one_by_one(digits, strings[some]), scale),
            "digit-rnn, every score by the trie": (lambda: digits.scores(table).topk(arguments.best), 1.0),
            "digit-rnn, rank": (lambda: digits.rank(table, arguments.best), 1.0),
            "mog, one by one": (lambda some=some: mog_one_by_one(gaussians, table[some], log_decimals), scale),
            "mog, rank": (lambda: gaussians.rank(table, arguments.best), 1.0),
        }
        for name, (run, factor) in runs.items():
            times.setdefault(name, []).append(seconds(run) * factor)
    check(digits_one_by_one(digits, strings[some]), digits.scores(table[some]))
    check(mog_one_by_one(gaussians, table[some], log_decimals), gaussians.scores(table[some]))
    rows = []
    for name, taken in times.items():
        baseline = f"{name.split(',')[0]}, one by one"
        faster = median(times[baseline]) / median(taken)
        bar = BAR if name.endswith("rank") else None
        verdict = "" if bar is None else "pass" if faster >= bar else "miss"
        rows.append({"name": name, "seconds": round(median(taken), 2), "faster": round(faster, 1), "bar": bar,
                     "verdict": verdict})  # fmt: skip
    return rows


def check(expected: torch.Tensor, found: torch.Tensor) -> None:
    """What is faster must be the same."""
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contexts", type=int, default=1000)
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--best", type=int, default=10)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--steps", type=int, default=150, help="of training, before")
    parser.add_argument("--sample", type=int, default=100, help="candidates that are measured one by one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()
    rows = figures(arguments)
    for row in rows:
        bar = "" if row["bar"] is None else f"at least {row['bar']:g}x {row['verdict']}"
        print(f"{row['name']:36} {row['seconds']:8.2f} s   {row['faster']:7.1f}x   {bar}")
    if arguments.json:
        machine.write(arguments.json, config=vars(arguments), figures=rows)


if __name__ == "__main__":
    main()
