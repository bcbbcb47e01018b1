"""Is `NumberRegressor` as good as scikit-learn on small tables, and what does its linear trend change?

    python benchmarks/regression_tables.py --json out/regression-tables.json
    python benchmarks/regression_tables.py --model bert-base-uncased --seeds 3 --tables diabetes mixed

The tables are those that scikit-learn brings along, and generated ones; each seed draws another 30 % of the rows for
the test (and another generated table). Systems:

- `ridge`: its ridge regression, penalty chosen by leave-one-out; categories one-hot, missing values the mean.
- `boosting`: its histogram gradient boosting with default options, on the same columns.
- `texts`: `NumberRegressor` on rows that are written as texts, so without a trend.
- `trend`: `NumberRegressor` on rows with `held_out=0`: where there is a trend, no network is trained beside it.
- `rows`: `NumberRegressor` on rows.

Without `--model`, the network is a new one of two layers, 64 wide, with the tokenizer of `numerate-mini`, whose word
embeddings stay random to save time. A finished trial is kept in the JSON file, so that an interrupted run goes on where
it ended. Needs scikit-learn and pandas.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import harness
import numpy as np
import pandas
import torch
import transformers
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from numerate import NumberRegressor
from numerate.apps.regression.rows import row_text, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SYSTEMS = ("ridge", "boosting", "texts", "trend", "rows")
MINI = Path(__file__).parents[1] / "models" / "numerate-mini" / "backbone"
KEYS = ("table", "system", "seed")


class Table(NamedTuple):
    """Columns and targets."""

    columns: pandas.DataFrame
    targets: np.ndarray


def bundled(load: Callable[..., Any], target: str = "") -> Table:
    """A table of scikit-learn; with `target`, this column is predicted from the other measurements."""
    found = load(as_frame=True)
    if not target:
        return Table(found.data, np.asarray(found.target, dtype=float).reshape(len(found.data), -1)[:, 0])
    return Table(found.data.drop(columns=target), found.data[target].to_numpy())


def made(columns: np.ndarray, targets: np.ndarray) -> Table:
    return Table(pandas.DataFrame(columns, columns=[f"x{at}" for at in range(columns.shape[1])]), targets)


def linear(draws: np.random.Generator, count: int) -> Table:
    """Three of five columns count; noise of 1 and a deviation of 3.7 without it."""
    columns = draws.normal(size=(count, 5))
    return made(columns, 10 + columns @ np.array([3.0, -2, 1, 0, 0]) + draws.normal(size=count))


def power_law(draws: np.random.Generator) -> Table:
    """A product of powers with noise of 20 %: linear in the logarithms."""
    columns = draws.uniform(1, 10, (500, 4))
    return made(columns, columns[:, 0] ** 2 * columns[:, 1] ** -1.5 * np.exp(0.2 * draws.normal(size=500)))


def products(draws: np.random.Generator) -> Table:
    """A product of two columns of both signs: no linear relation at all."""
    columns = draws.normal(size=(500, 4))
    return made(columns, columns[:, 0] * columns[:, 1] + 0.1 * draws.normal(size=500))


def mixed(draws: np.random.Generator) -> Table:
    """Numbers, a category and a truth value, with one in ten values missing."""
    size, year = draws.uniform(30, 150, 300), draws.integers(1950, 2021, 300).astype(float)
    town, garden = draws.choice(["Bonn", "Kiel", "Ulm"], 300), draws.random(300) < 0.3
    extra = pandas.Series(town).map({"Bonn": 60.0, "Kiel": 0.0, "Ulm": -40.0}).to_numpy() + 35 * garden
    targets = 3 * size + 0.8 * (year - 1950) + extra + 15 * draws.normal(size=300) + 100
    frame = pandas.DataFrame({"size (m²)": size, "year": year, "town": town, "garden": np.where(garden, "yes", "no")})
    return Table(frame.mask(draws.random(frame.shape) < 0.1), targets)


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "diabetes": lambda _: bundled(datasets.load_diabetes),
    "linnerud": lambda _: bundled(datasets.load_linnerud),
    "wine": lambda _: bundled(datasets.load_wine, "alcohol"),
    "iris": lambda _: bundled(datasets.load_iris, "petal width (cm)"),
    "linear, 60 rows": lambda draws: linear(draws, 60),
    "linear": lambda draws: linear(draws, 200),
    "mixed": mixed,
    "power law": power_law,
    "friedman1": lambda draws: made(*datasets.make_friedman1(500, noise=1.0, random_state=int(draws.integers(2**31)))),
    "products": products,
}


def pipeline(model: Any) -> Any:
    """The model behind the usual preparation of columns."""
    numbers = make_pipeline(StandardScaler(), SimpleImputer())
    is_number = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    # Dense, because gradient boosting takes no sparse matrix.
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((numbers, is_number), (words, others)), model)


def regressor(options: Any, seed: int) -> NumberRegressor:
    trained: dict[str, Any] = {"epochs": options.epochs, "batch_size": options.batch, "seed": seed}
    if options.model:
        return NumberRegressor(options.model, **trained)
    words = transformers.AutoTokenizer.from_pretrained(options.tokenizer)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=256
    )
    model = transformers.BertModel(config)
    model.get_input_embeddings().weight.requires_grad_(False)
    return NumberRegressor(model, words, **trained)


def trial(system: str, table: Table, seed: int, options: Any) -> dict[str, Any]:
    """Root mean squared error and R² on the test rows, and the share of them inside of the 90 % intervals."""
    train, test, y, truth = train_test_split(table.columns, table.targets, test_size=0.3, random_state=seed)
    start, found = time.perf_counter(), {}
    if system in ("ridge", "boosting"):
        if system == "ridge":
            model: Any = RidgeCV(np.logspace(-3, 3, 25))
        else:
            model = HistGradientBoostingRegressor(random_state=seed)
        guess = pipeline(model).fit(train, y).predict(test)
    else:
        if system == "texts":
            train, test = ([row_text(row) for row in table_rows(part) or ()] for part in (train, test))
        made_one = regressor(options, seed)
        if system == "trend":
            made_one.set_params(held_out=0.0)
        made_one.fit(train, y)
        low, guess, high = made_one.predict_quantiles(test, (0.05, 0.5, 0.95)).T
        found["coverage_90"] = float(np.mean((low <= truth) & (truth <= high)))
        if made_one.trend_ is not None:
            found["network_share"] = made_one.trend_.network_share
    apart = np.mean((guess - truth) ** 2)
    found |= {"rmse": float(np.sqrt(apart)), "r2": float(1 - apart / truth.var()), "test": len(truth)}
    return found | {"seconds": time.perf_counter() - start}


def report(trials: Sequence[dict[str, Any]]) -> str:
    """A Markdown table: means over the seeds."""
    systems = [system for system in SYSTEMS if any(one["system"] == system for one in trials)]
    own = [system for system in systems if system not in ("ridge", "boosting")]
    seeds = {system: len({one["seed"] for one in trials if one["system"] == system}) for system in systems}
    head = ["table", *(f"RMSE: {system}" for system in systems), *(f"R²: {system}" for system in systems)]
    head += [f"inside 90 %: {system}" for system in own]
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    for name in TABLES:
        of = {system: [one for one in trials if one["table"] == name and one["system"] == system] for system in systems}
        if all(of.values()):
            cells = [f"{fmean(one['rmse'] for one in of[system]):.3g}" for system in systems]
            cells += [f"{fmean(one['r2'] for one in of[system]):.2f}" for system in systems]
            cells += [f"{fmean(one['coverage_90'] for one in of[system]):.3f}" for system in own]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(
        [*lines, "", f"Means over seeds: {', '.join(f'{name} {count}' for name, count in seeds.items())}."]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES), help="which tables")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS, help="which systems")
    parser.add_argument("--model", default="", help="name or folder of a pretrained model; by default a new network")
    parser.add_argument("--tokenizer", default=str(MINI), help="name or folder of the tokenizer of a new network")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--epochs", type=int, default=None, help="passes; by default those of NumberRegressor")
    parser.add_argument("--batch", type=int, default=4, help="rows in a step; NumberRegressor's default is 16")
    options = parser.parse_args(arguments)
    trials: list[dict[str, Any]] = []
    if options.json and Path(options.json).exists():
        trials = json.loads(Path(options.json).read_text("utf-8"))["figures"]
    done = {tuple(one[key] for key in KEYS) for one in trials}
    for seed in range(options.seeds):
        for name in options.tables:
            for system in options.systems:
                if (name, system, seed) in done:
                    continue
                table = TABLES[name](np.random.default_rng(seed))
                trials.append({"table": name, "system": system, "seed": seed} | trial(system, table, seed, options))
                print({key: round(v, 3) if isinstance(v, float) else v for key, v in trials[-1].items()}, flush=True)
                harness.write(options, trials)
    print(report(trials))


if __name__ == "__main__":
    main()
