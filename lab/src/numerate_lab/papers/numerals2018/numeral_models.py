"""The tables of Spithourakis & Riedel (2018): one model on one corpus at a time, and the tables from what was written.

Their corpora cannot be had (arXMLiv paragraphs are not distributed, the clinical records are private): ours stand in,
so the paper's figures beside ours show the method's order, not a target.
"""

from __future__ import annotations

import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import read_yaml
from numerate.registry import near_names
from numerate.training.results import differences, read_figures, read_predictions, write, write_predictions
from numerate_lab.tasks.next_numeral.corpora import corpus_statistics
from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral, NextNumeralConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.metrics import Score
    from numerate_lab.tasks.next_numeral.next_numeral import Evaluation

__all__ = [
    "CORPORA", "MODELS", "SCALES", "SEVEN", "config_for", "differs", "figures_of", "load_run", "recompute", "run_model",
    "write_corpus",
]  # fmt: skip

SEVEN = ("softmax", "softmax-rnn", "h-softmax", "h-softmax-rnn", "d-rnn", "mog", "combination")


def load_run() -> dict[str, Any]:
    """The run's settings, as shipped."""
    text = (resources.files("numerate_lab.papers.numerals2018") / "tables.yaml").read_text(encoding="utf-8")
    return read_yaml(text, "tables.yaml")


_RUN = load_run()
CORPORA: tuple[str, ...] = tuple(_RUN["corpora"])
MODELS: tuple[str, ...] = tuple(_RUN["models"])
SCALES: tuple[str, ...] = tuple(_RUN["scales"])


def config_for(corpus: str, model: str, scale: str = "paper", data: str | Path | None = None) -> NextNumeralConfig:
    """The config of one model on one corpus.

    Args:
        corpus: One of `CORPORA`.
        model: One of `MODELS`.
        scale: `tiny` for a test of minutes, `paper` as published.
        data: The folder below which sources are looked for; not needed for `clinical`.

    Example:
        >>> config_for("clinical", "mog").vocabulary
        1000
    """
    for what, given, known in (("corpus", corpus, CORPORA), ("model", model, MODELS), ("scale", scale, SCALES)):
        if given not in known:
            raise ValueError(f"unknown {what} {given!r}: {near_names(given, list(known))}")
    options = dict(_RUN["corpora"][corpus]) | _RUN["scales"][scale] | _RUN["models"][model]
    if scale == "tiny":
        options |= {key: value for key, value in _RUN["scales"][scale].items() if key in options}
    vectors = None
    if data is not None:
        if options["source"] != "clinical":
            options["source"] = str(Path(data) / options["source"])
        file = Path(data) / _RUN["word_vectors"]
        vectors = str(file) if file.is_file() and options.get("width", 50) <= 100 else None
    elif options["source"] != "clinical":
        raise ValueError(f"corpus {corpus!r} is read from files: give the folder that holds {options['source']!r}")
    return NextNumeralConfig.from_dict(options | {"word_vectors": vectors})


def write_corpus(task: NextNumeral, folder: str | Path) -> None:
    """Writes `corpus.json`: the statistics of the paper's Table 1 for each split."""
    found = {split: corpus_statistics(texts, task.vocabulary).to_dict() for split, texts in task.texts.items()}
    settings = task.config.to_dict()
    write(
        Path(folder) / "corpus.json",
        config={"source": Path(settings["source"]).name, "vocabulary": settings["vocabulary"]},
        figures=found,
    )


def _settings(config: NextNumeralConfig) -> dict[str, Any]:
    """A model's settings as they are written: of files the names, not where they were on this machine."""
    vectors = config.word_vectors
    names = {"source": Path(config.source).name, "word_vectors": None if vectors is None else Path(vectors).name}
    return config.to_dict() | names


def differs(file: str | Path, config: NextNumeralConfig) -> str | None:
    """How a result that is there already was trained otherwise than wanted now; None if it was not.

    Args:
        file: The result.
        config: What is wanted; its time limit does not count.
    """
    return differences(file, _settings(config), apart=("seconds",))


def run_model(
    task: NextNumeral, config: NextNumeralConfig, name: str, folder: str | Path, *, save: bool = False, **options: Any
) -> Evaluation:
    """Trains and evaluates one model, and writes `<name>.json` and `<name>.npz` into the folder.

    Args:
        task: The corpus' task.
        config: The model's config.
        name: The file's name.
        folder: Where to write.
        save: Write the model, too, into a folder of that name.
        **options: More `TrainingArguments`.
    """
    target = Path(folder)
    model = task.build(config)
    start = time.perf_counter()
    trained = task.train(model, config, **options)
    trained["seconds"] = round(time.perf_counter() - start, 1)
    trained["parameters"] = model.trainable_parameters()[1]
    result = task.evaluate(model)
    write_predictions(target / f"{name}.npz", result.predictions)
    write(target / f"{name}.json", config=_settings(config), figures={"training": trained} | figures_of(result))
    if save:
        model.save_pretrained(target / name, backbone=True)
    return result


def figures_of(result: Evaluation) -> dict[str, Any]:
    """An evaluation as JSON types."""

    def cell(score: Score) -> dict[str, Any]:
        return score.to_dict()

    perplexities = {
        name: {"pp": row.pp, "app": row.app, "tokens": row.count} for name, row in result.perplexities.items()
    }
    errors = {name: {error: cell(score) for error, score in row.items()} for name, row in result.errors.items()}
    return {"perplexity": perplexities, "number_line": errors}


def recompute(task: NextNumeral, names: Sequence[str], folder: str | Path) -> dict[str, bool]:
    """Whether each model's figures come out again from its predictions alone (nats were kept in float32)."""
    same = {}
    for name in names:
        written = read_figures(Path(folder) / f"{name}.json")
        again = figures_of(task.measure(read_predictions(Path(folder) / f"{name}.npz")))
        same[name] = all(_close(written[key], again[key]) for key in again)
    return same


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-4 * max(abs(one), abs(other)) or one != one
    return one == other
