"""Does number sense help when a number, or a class that depends on numbers, is predicted from a text?

    python benchmarks/numbers_as_targets.py --model ../shared/models/minilm-mlm --json results/numbers-as-targets.json
    python benchmarks/numbers_as_targets.py --model bert-base-uncased --layers 12 --steps 5000 --train 80000 --batch 64

Each task is trained with the bare backbone and with numerate, for the same number of steps on the same texts. Both try
each of the rates with the first seed; the one that is best on dev is trained with all seeds and scored on test.

- `comparison`: which of two quantities is larger (generated texts; the numbers are log-uniform from 1 to 1,000,000).
- `tabfact`: whether a statement about a table is true (statement and table as a pair of texts).
- `units`, `market`: the number of a sentence, which is replaced by `_`; other numbers of the sentence stay.
- `transactions`: the amount of a card payment from merchant, time and the last three amounts there.

The bare backbone has the classification head of transformers; for a number, that head regresses the standardised
logarithm with the squared error. Numerate's side of classification is `attach(backbone, tokenizer)` with its defaults,
and of regression `NumberRegressor`, which holds out a tenth of its texts for the calibration. A finished trial is kept
in the JSON file, so that an interrupted run goes on where it ended.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, NamedTuple

import harness
import numpy as np
import texts as shared_texts
import torch

import numerate
from numerate.files import write_atomically
from numerate.training.learning_rates import number_rate, set_rate
from numerate.training.results import Result

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

TASKS = ("comparison", "units", "transactions", "market", "tabfact")
CLASSES = ("comparison", "tabfact")
SYSTEMS = ("bare", "numerate")
RULES = ("constant", "earlier amounts")
"""Predictions without a model: the median of the training targets, and that of the amounts in the text."""
SCORES = {
    "accuracy": "accuracy", "log_mae": "log-MAE", "within_2": "within a factor of 2", "r2_log": "R² of the logarithm",
    "coverage_90": "inside 90 %",
}  # fmt: skip
BUDGET = ("layers", "scratch", "freeze_embeddings", "steps", "batch", "length", "train")
WARMUP = 0.1


class Part(NamedTuple):
    """Texts (or pairs of texts) and their targets: classes or positive numbers."""

    texts: list[Any]
    targets: np.ndarray


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def comparison(data: Path, sizes: dict[str, int]) -> dict[str, Part]:
    """Pairs of quantities with a ratio of 1.02 at least; the classes are balanced."""
    del data
    rng, parts = random.Random(0), {}
    things = [("box", "kg"), ("bridge", "m"), ("phone", "euros"), ("tank", "litres"), ("road", "km")]
    for split, count in sizes.items():
        rows, labels = [], []
        while len(rows) < count:
            thing, unit = rng.choice(things)
            first = 10 ** rng.uniform(0, 6)
            second = first * 10 ** rng.choice([rng.uniform(-2, 2), rng.uniform(-0.2, 0.2)])
            a, b = (f"{n:,.0f}" if n >= 1000 else f"{n:.3g}" for n in (first, second))
            one, other = (float(n.replace(",", "")) for n in (a, b))
            if not 1 <= second <= 1e6 or abs(one - other) < 0.02 * other:
                continue
            rows.append(f"The first {thing}: {a} {unit}. The second {thing}: {b} {unit}.")
            labels.append(int(one > other))
        parts[split] = Part(rows, np.array(labels))
    return parts


def sentences(name: str, data: Path, sizes: dict[str, int]) -> dict[str, Part]:
    """Sentences of at most 160 characters with their number replaced by `_`."""
    parts = {}
    for split, count in sizes.items():
        rows = []
        for row in lines(data / name / f"{split}.jsonl.gz"):
            begin, text, value = row["offset"], row["comment"], float(row["number"])
            if len(text) <= 160 and value > 0:
                rows.append((f"{text[:begin]}_{text[begin + row['length'] :]}", value))
        random.Random(0).shuffle(rows)
        chosen, values = zip(*rows[:count], strict=True)
        parts[split] = Part(list(chosen), np.array(values))
    return parts


def transactions(data: Path, sizes: dict[str, int]) -> dict[str, Part]:
    """Payments in their order in time: the first are for training, the last for test."""
    past: dict[str, list[str]] = defaultdict(list)
    rows = []
    with gzip.open(data / "transactions" / "user0.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            value, merchant = float(row["Amount"].replace("$", "")), row["Merchant Name"]
            before = ", ".join(past[merchant][-3:]) or "none"
            past[merchant].append(row["Amount"])
            place = f"{row['Merchant City']} {row['Merchant State']}".strip()
            when = f"{row['Year']}-{int(row['Month']):02}-{int(row['Day']):02} {row['Time']}"
            if value > 0 and before != "none":
                kind = f"{row['Use Chip']}, category {row['MCC']}, {place}, {when}"
                rows.append((f"{kind}. Earlier amounts here: {before}.", value))
    ends = {"train": 0, "dev": len(rows) * 7 // 10, "test": len(rows) * 8 // 10}
    parts = {}
    for split, count in sizes.items():
        stop = {"train": ends["dev"], "dev": ends["test"], "test": len(rows)}[split]
        some = rows[ends[split] : stop]
        random.Random(0).shuffle(some)
        chosen, values = zip(*some[:count], strict=True)
        parts[split] = Part(list(chosen), np.array(values))
    return parts


def tabfact(data: Path, sizes: dict[str, int]) -> dict[str, Part]:
    """Statements with tables; dev and test are the two halves of the official validation tables."""
    tables = {row["table_id"]: row for row in lines(data / "tabfact" / "tables.jsonl.gz")}
    rows: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for name in ("train_partial", "val"):
        for row in lines(data / "tabfact" / f"{name}.jsonl.gz"):
            table = tables[row["table_id"]]
            cells = [", ".join(f"{h} {c}" for h, c in zip(table["header"], r, strict=False)) for r in table["rows"]]
            half = "dev" if sum(map(ord, row["table_id"])) % 2 else "test"
            pair = (row["statement"], f"{table['caption'] or ''}: {'; '.join(cells)}")
            rows["train" if name != "val" else half].append((pair, int(row["label"])))
    parts = {}
    for split, count in sizes.items():
        # Those that fit best into a short text.
        some = sorted(rows[split], key=lambda row: len(row[0][0]) + len(row[0][1]))[: 3 * count]
        random.Random(0).shuffle(some)
        chosen, labels = zip(*some[:count], strict=True)
        parts[split] = Part(list(chosen), np.array(labels))
    return parts


def parts_of(task: str, options: Namespace) -> dict[str, Part]:
    sizes = {"train": options.train, "dev": options.dev, "test": options.test}
    data = Path(options.data)
    if task in ("units", "market"):
        return sentences(task, data, sizes)
    return {"comparison": comparison, "transactions": transactions, "tabfact": tabfact}[task](data, sizes)


def batches(part: Part, options: Namespace, seed: int) -> Iterator[list[int]]:
    order: list[int] = []
    draws = random.Random(seed)
    for _ in range(options.steps):
        if len(order) < options.batch:
            order = list(range(len(part.texts)))
            draws.shuffle(order)
        yield order[: options.batch]
        order = order[options.batch :]


def encoded(processor: Any, rows: Sequence[Any], options: Namespace) -> Any:
    columns = list(zip(*rows, strict=True)) if isinstance(rows[0], tuple) else [rows]
    cut = {"padding": True, "truncation": True, "max_length": options.length, "return_tensors": "pt"}
    return processor(*map(list, columns), **cut).to(options.device)


def backbone_of(options: Namespace, labels: int | None) -> tuple[Any, Any]:
    """The backbone with its first layers, with a new classification head or without any head, and the tokenizer."""
    import transformers as hf

    tokenizer = hf.AutoTokenizer.from_pretrained(options.model)
    few = {"num_hidden_layers": options.layers} if options.layers else {}
    hf.logging.set_verbosity_error()  # no list of the layers that are left out
    kind: Any = hf.AutoModel if labels is None else hf.AutoModelForSequenceClassification
    few |= {} if labels is None else {"num_labels": labels}
    if options.scratch:
        heads = max(1, options.scratch // 32)
        sizes = {"hidden_size": options.scratch, "intermediate_size": 4 * options.scratch, "num_attention_heads": heads}
        model = kind.from_config(hf.AutoConfig.from_pretrained(options.model, **sizes, **few))
    else:
        model = kind.from_pretrained(options.model, dtype=torch.float32, **few)
    model.get_input_embeddings().weight.requires_grad_(not options.freeze_embeddings)
    return model, tokenizer


def trained(model: Any, processor: Any, part: Part, goals: Any, rate: float, seed: int, options: Namespace) -> None:
    """Trains a classifier, or a regressor with one output, with AdamW, warm-up and linear decay."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    if isinstance(model, numerate.NumberModel):
        own = (weight for name, weight in model.named_parameters() if not name.startswith("backbone."))
        set_rate(optimizer, own, number_rate(rate))
    warm = max(1, round(WARMUP * options.steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (options.steps - step) / (options.steps - warm + 1))
    )
    model.to(options.device).train()
    for chosen in batches(part, options, seed):
        logits = model(**encoded(processor, [part.texts[at] for at in chosen], options)).logits
        wanted = goals[chosen].to(options.device)
        if wanted.is_floating_point():
            loss = torch.nn.functional.mse_loss(logits[:, 0], wanted)
        else:
            loss = torch.nn.functional.cross_entropy(logits, wanted)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.eval()


@torch.no_grad()
def outputs(model: Any, processor: Any, rows: list[Any], options: Namespace) -> torch.Tensor:
    found = [model(**encoded(processor, rows[at : at + 64], options)).logits.cpu() for at in range(0, len(rows), 64)]
    return torch.cat(found)


def number_scores(truth: np.ndarray, guess: np.ndarray, interval: np.ndarray | None = None) -> dict[str, float]:
    away = np.abs(np.log10(np.maximum(guess, 1e-9)) - np.log10(truth))
    spread = ((np.log10(truth) - np.log10(truth).mean()) ** 2).sum()
    scores = {"log_mae": away.mean(), "within_2": (away <= np.log10(2)).mean(), "r2_log": 1 - (away**2).sum() / spread}
    if interval is not None:
        scores["coverage_90"] = ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean()
    return {name: round(float(value), 5) for name, value in scores.items()}


def trial(task: str, system: str, rate: float, seed: int, parts: dict[str, Part], options: Namespace) -> dict[str, Any]:
    """Figures of one training on dev and test."""
    torch.manual_seed(seed)
    train, checked = parts["train"], {split: parts[split] for split in ("dev", "test")}
    if task in CLASSES:
        backbone, tokenizer = backbone_of(options, 2)
        model = backbone if system == "bare" else numerate.attach(backbone, tokenizer)
        processor = tokenizer if system == "bare" else model.processor
        if system == "numerate":
            from numerate.modeling.fitting import fit_to_texts

            texts = train.texts if isinstance(train.texts[0], str) else [part for row in train.texts for part in row]
            fit_to_texts(model, texts)
        trained(model, processor, train, torch.from_numpy(train.targets), rate, seed, options)
        found = {split: outputs(model, processor, part.texts, options).argmax(-1) for split, part in checked.items()}
        return {s: {"accuracy": round(float(np.mean(found[s].numpy() == checked[s].targets)), 5)} for s in found}
    if system == "bare":
        backbone, tokenizer = backbone_of(options, 1)
        logs = np.log10(train.targets)
        goals = torch.from_numpy((logs - logs.mean()) / logs.std()).float()
        trained(backbone, tokenizer, train, goals, rate, seed, options)
        guesses = {s: outputs(backbone, tokenizer, part.texts, options)[:, 0].numpy() for s, part in checked.items()}
        return {s: number_scores(checked[s].targets, 10 ** (guesses[s] * logs.std() + logs.mean())) for s in guesses}
    regressor = numerate.NumberRegressor(
        *backbone_of(options, None), learning_rate=rate, batch_size=options.batch, max_length=options.length, seed=seed,
        device=options.device,
    )  # fmt: skip
    # As many passes as give at most the steps of the bare model.
    kept = len(train.texts) - max(30, round(0.1 * len(train.texts)))
    regressor.set_params(epochs=max(1, options.steps // -(-kept // options.batch)))
    regressor.fit(train.texts, train.targets)
    quantiles = {split: regressor.predict_quantiles(part.texts, (0.5, 0.05, 0.95)) for split, part in checked.items()}
    return {
        split: number_scores(checked[split].targets, found[:, 0], found[:, 1:]) for split, found in quantiles.items()
    } | {"steps": len(regressor.losses_)}  # a few more or fewer than asked: whole passes


def rules(task: str, parts: dict[str, Part]) -> Iterator[dict[str, Any]]:
    """Figures of the rules that apply to a task."""
    middle = float(np.median(parts["train"].targets))
    for rule in RULES if task == "transactions" else RULES[:1]:
        found: dict[str, Any] = {"task": task, "system": rule, "rate": 0, "seed": 0, "steps": 0, "batch": 0}
        for split in ("dev", "test"):
            texts, truth = parts[split].texts, parts[split].targets
            guess = np.array([middle if rule == "constant" else earlier(text, middle) for text in texts])
            found[split] = number_scores(truth, guess)
        yield found


def earlier(text: str, otherwise: float) -> float:
    """The median of the positive amounts at the end of a text of `transactions`."""
    amounts = [float(amount.replace("$", "")) for amount in text.split("here: ")[1].rstrip(".").split(", ")]
    return float(np.median([amount for amount in amounts if amount > 0] or [otherwise]))


def best_rate(trials: list[dict[str, Any]], task: str, system: str, options: Namespace) -> float:
    """The rate that is best on dev with the first seed."""
    tried = [
        t
        for t in trials
        if (t["task"], t["system"], t["seed"]) == (task, system, 0) and t["rate"] in (0, *options.rates)
    ]
    name, sign = ("accuracy", -1) if task in CLASSES else ("log_mae", 1)
    return min(tried, key=lambda t: sign * t["dev"][name])["rate"]


def table(trials: list[dict[str, Any]], options: Namespace) -> str:
    """A Markdown table: mean and standard deviation over the seeds, on test."""
    rows = [
        "| task | system | backbone | steps × texts | rate, of those tried | seeds | "
        + " | ".join(SCORES.values())
        + " |"
    ]
    rows.append("|---|---|---|---:|---|---:|" + "---:|" * len(SCORES))
    for task in TASKS:
        for system in (*RULES, *SYSTEMS):
            if not any((t["task"], t["system"]) == (task, system) for t in trials):
                continue
            rate = best_rate(trials, task, system, options)
            some = [t for t in trials if (t["task"], t["system"], t["rate"]) == (task, system, rate)]
            cells = []
            for name in SCORES:
                values = [t["test"][name] for t in some if name in t["test"]]
                cells.append(f"{fmean(values):.3f} ± {pstdev(values):.3f}" if values else "–")
            tried = sorted({t["rate"] for t in trials if (t["task"], t["system"], t["seed"]) == (task, system, 0)})
            first, rates = some[0], f"{rate:g} of {', '.join(f'{each:g}' for each in tried)}" if rate else "–"
            steps = f"{first['steps']} × {first['batch']}" if rate else "–"
            width = f"new, width {first['scratch']}" if first.get("scratch") else Path(options.model).name
            kept = f"{width}, {first['layers'] or 'all'} layers" if rate else "–"
            rows.append(f"| {task} | {system} | {kept} | {steps} | {rates} | {len(some)} | " + " | ".join(cells) + " |")
    note = "Mean and standard deviation over the seeds, on test; the rate was chosen on dev with the first seed."
    return "\n".join([*rows, "", note, ""])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", default=str(shared_texts.SHARED / "models" / "minilm-mlm"), help="name or folder")
    parser.add_argument("--data", default=str(shared_texts.SHARED / "data"), help="folder of the data sets")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS, help="which tasks to run")
    parser.add_argument("--table", action="store_true", help="train nothing: write the table of the trials in --json")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS, help="which systems to train")
    parser.add_argument(
        "--layers", type=int, default=0, help="number of layers of the backbone that are used; 0 for all"
    )
    parser.add_argument(
        "--scratch", type=int, default=0, help="width of a new backbone with random weights; 0 for none"
    )
    parser.add_argument("--freeze-embeddings", action="store_true", help="do not train the word embeddings: saves time")
    parser.add_argument("--steps", type=int, default=150, help="training steps")
    parser.add_argument("--batch", type=int, default=16, help="texts in a step")
    parser.add_argument("--length", type=int, default=64, help="longest text in tokens")
    parser.add_argument("--train", type=int, default=2400, help="training texts")
    parser.add_argument("--dev", type=int, default=300, help="texts for the choice of the rate")
    parser.add_argument("--test", type=int, default=600, help="test texts")
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-4, 3e-4], help="learning rates to try")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    is_there = bool(options.json) and Path(options.json).is_file()
    trials: list[dict[str, Any]] = Result.read(options.json).figures if is_there else []

    def run(task: str, system: str, rate: float, seed: int, parts: dict[str, Part]) -> None:
        key = {"task": task, "system": system, "rate": rate, "seed": seed}
        if any(key.items() <= t.items() for t in trials):
            return
        begin, cpu = time.perf_counter(), time.process_time()
        found = trial(task, system, rate, seed, parts, options)
        took = {"seconds": round(time.perf_counter() - begin, 1), "cpu_seconds": round(time.process_time() - cpu, 1)}
        budget = {name: getattr(options, name) for name in BUDGET}
        trials.append(key | budget | found | took)
        print(trials[-1], flush=True)
        harness.write(options, trials)

    for task in () if options.table else options.tasks:
        parts = parts_of(task, options)
        if task not in CLASSES and not any(t["task"] == task and t["system"] in RULES for t in trials):
            trials += rules(task, parts)
        for system in options.systems:
            for rate in options.rates:
                run(task, system, rate, 0, parts)
            for seed in range(1, options.seeds):
                run(task, system, best_rate(trials, task, system, options), seed, parts)
    harness.write(options, trials)
    made = table(trials, options)
    print(made)
    if options.json:
        write_atomically(Path(options.json).with_suffix(".md"), made.encode())


if __name__ == "__main__":
    main()
