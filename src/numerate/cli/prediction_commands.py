"""The commands `predict`, `generate` and `fill`."""

from __future__ import annotations

import re
import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numerate.cli.options import AsJson
from numerate.cli.source import check_seed, check_text, one_line_errors, read_texts
from numerate.cli.terminal import console, on_terminal, write_json
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["COMMANDS", "Predictions", "continuations", "fill", "generate", "predict", "prompts_of"]

RECORD_BATCH = 256
PROMPT_BATCH = 32
MAX_SAMPLES = 100_000
"""Maximum number of samples per record: a batch of records then needs 200 MB."""


def predict(
    model: Annotated[str, typer.Argument(help="A folder written by `numerate train records`.")],
    file: Annotated[str, typer.Argument(help="Records: .jsonl, .json, .csv, .tsv, .parquet (or .gz).")],
    field: Annotated[str, typer.Option(help="Path of the field to predict, as description.planet0.m.")],
    level: Annotated[float, typer.Option(help="Probability of the interval.")] = 0.9,
    samples: Annotated[int, typer.Option(help="Number of samples per record.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per record.")] = False,
) -> None:
    """Predict a field of each record, whether or not the record has it: median, interval, samples.

    On a terminal it is a table. A file or pipe gets tab-separated columns (record, median, low, high, unit, samples).
    """
    found = Predictions(model, file, field, level=level, samples=samples, seed=seed)
    if as_json:
        for each in found:
            write_json(each)
    elif on_terminal():
        unit = f" in {found.unit}" if found.unit else ""
        console().print(_table(found, f"{found.path}{unit}, with {100 * level:g} % intervals"))
    else:
        _write_columns(found)
    if unusual := found.unusual_input():
        typer.echo(f"unusual input, see docs/records.md: {unusual}", err=True)


def generate(
    model: Annotated[str, typer.Argument(help="A saved model's folder or Hub id.")],
    prompt: Annotated[list[str] | None, typer.Argument(help="Prompts to continue.")] = None,
    file: Annotated[str | None, typer.Option(help="A file of prompts, one per line; - is standard input.")] = None,
    max_new_tokens: Annotated[int, typer.Option(help="Maximum number of new tokens.")] = 64,
    sample: Annotated[bool, typer.Option("--sample", help="Sample instead of taking the most probable.")] = False,
    temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 1.0,
    beams: Annotated[int, typer.Option(help="Number of beams.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Continue prompts with words and numbers.

    With --json one object per prompt, with the value and 90 % interval of each number.
    """
    options = {"do_sample": sample, "temperature": temperature, "num_beams": beams}
    for found in continuations(model, prompts_of(tuple(prompt or ()), file), max_new_tokens, **options):
        if as_json:
            write_json(found)
        else:
            typer.echo(found["prompt"] + found["text"])


def fill(
    text: Annotated[str, typer.Argument(help='A text with gaps: "The [MASK] weighs [NUM] lbs."')],
    model: Annotated[
        list[str] | None, typer.Option(help="A saved model or masked language model; repeat to compare.")
    ] = None,
    swap: Annotated[list[str] | None, typer.Option(help="Replace the text's first number by this one.")] = None,
    top: Annotated[int, typer.Option(help="Number of words or numerals per gap.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Fill the gaps of a text: [MASK] with words, [NUM] with numbers and their distribution.

    With --swap, see how they change when only the text's first number changes. Without --model, the model that comes
    with numerate is used. With --json one object in a line for each model and number of --swap.
    """
    from numerate.apps.fill import fill as work
    from numerate.apps.fill import fill_tables

    for each in (text, *(swap or ())):
        check_text(each, "text")
    results = work(text, model or None, swap=tuple(swap or ()), top=top)
    if as_json:
        for result in results:
            write_json(result)
    else:
        console().print(*fill_tables(results), sep="\n")


COMMANDS = (predict, generate, fill)


class Predictions:
    """Iterable of a saved model's predictions, one per record of a file; arguments as `numerate predict`.

    Raises:
        NumerateError: There is no such model, file or field; or, during iteration, a record cannot be read.
    """

    def __init__(
        self, folder: str, file: str, field: str, *, level: float = 0.9, samples: int = 0, seed: int = 0
    ) -> None:
        from numerate.processing.scaling import field_of
        from numerate.records import RecordModel
        from numerate.training.progress import quiet_unless_terminal
        from numerate.training.sources import rows_of

        if not 0 < level < 1:
            raise BadInput(f"--level must lie between 0 and 1, got {level}")
        if not 0 <= samples <= MAX_SAMPLES:
            raise BadInput(f"--samples must lie between 0 and {MAX_SAMPLES:,}, got {samples}")
        check_seed(seed)
        quiet_unless_terminal()
        self.level, self.samples, self.seed = level, samples, seed
        self.model = RecordModel.load(folder)
        # A second one for the samples, so that unusual input of a record is counted once.
        self._drawing = RecordModel(self.model.model, self.model.schema, self.model.calibration)
        self.path = self.model.schema.path(field)
        self.unit = self.model.schema.fields[field_of(self.path)].unit
        self._rows = rows_of(file)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Dicts with `record` (index from 0), `field`, `median`, `low`, `high`; `unit` and `samples` if any."""
        ends = ((1 - self.level) / 2, 0.5, (1 + self.level) / 2)
        rows = (row for _, row in self._rows)
        first = 0
        with one_line_errors():
            while some := list(islice(rows, RECORD_BATCH)):
                found = _plain(self.model.predict(some, self.path, ends))
                drawn = [()] * len(some)
                if self.samples:
                    drawn = _plain(self._drawing.sample(some, self.path, self.samples, self.seed + first))
                for at, ((low, median, high), samples) in enumerate(zip(found, drawn, strict=True)):
                    line = {"record": first + at, "field": self.path, "median": median, "low": low, "high": high}
                    line |= {"unit": self.unit} if self.unit else {}
                    yield line | ({"samples": list(samples)} if self.samples else {})
                first += len(some)

    def unusual_input(self) -> str:
        """Unusual values of the records in one line, e.g. numbers outside of the training range; may be empty."""
        counts = self.model.counts
        return "; ".join(
            f"{sum(counts[kind].values()):,} {kind} ({', '.join(sorted(counts[kind])[:5])})"
            for kind in counts.KINDS
            if counts[kind] and kind != "missing"
        )


def prompts_of(prompt: tuple[str, ...], file: str | None) -> Iterable[str]:
    """Prompts given as arguments, or the lines of a file."""
    if bool(prompt) == (file is not None):
        raise BadInput("give either prompts or a file of prompts with --file")
    for each in prompt:
        check_text(each, "prompt")
    return prompt if file is None else read_texts(file)


def continuations(folder: str, prompts: Iterable[str], max_new_tokens: int, **options: Any) -> Iterator[dict[str, Any]]:
    """Continuations of a saved model: `prompt`, `text`, and `numbers` with values and 90 % intervals.

    The folder may be a Hub id; prompts are read in batches; options are those of
    `numerate.modeling.generation.generate`.
    """
    from numerate.modeling.attaching import from_pretrained
    from numerate.modeling.tokenizer_checks import longest_text
    from numerate.training.progress import quiet_unless_terminal

    quiet_unless_terminal()
    with one_line_errors():
        model = from_pretrained(folder)
        waiting = iter(prompts)
        while some := list(islice(waiting, PROMPT_BATCH)):
            try:
                said = model.generate(some, max_new_tokens, **options)
            except (IndexError, RuntimeError) as error:  # backbones differ in the error for a missing position
                limit = longest_text(model.backbone.config, model.processor.tokenizer)
                longest = max(len(ids) for ids in model.processor(some)["input_ids"])
                if limit is None or longest + max_new_tokens <= limit:
                    raise
                raise BadInput(
                    f"the model has {limit} positions, but the longest prompt has {longest} tokens and "
                    f"--max-new-tokens is {max_new_tokens}; give fewer"
                ) from error
            for prompt, text, numbers in zip(some, said.texts, said.numbers, strict=True):
                yield {"prompt": prompt, "text": text, "numbers": [_described(number) for number in numbers]}


def _described(number: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"text": number.text, "value": number.value}
    if number.distribution is not None:
        found["interval_90"] = [float(end[0]) for end in number.distribution.interval(0.9)]
    return found


def _write_columns(predictions: Iterable[dict[str, Any]]) -> None:
    """Tab-separated columns without a header, numbers in full."""
    for each in predictions:
        cells = [*(each[name] for name in ("record", "median", "low", "high")), each.get("unit", "")]
        sys.stdout.write("\t".join(map(str, [*cells, *each.get("samples", ())])) + "\n")
    sys.stdout.flush()


def _table(predictions: Iterable[dict[str, Any]], title: str) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    lines = list(predictions)
    drawn = ["samples"] if any("samples" in each for each in lines) else []
    for name in ("record", "median", "low", "high", *drawn):
        table.add_column(name, justify="left" if name == "samples" else "right")
    for each in lines:
        cells = [_shown(each[name]) for name in ("median", "low", "high")]
        table.add_row(str(each["record"]), *cells, *(" ".join(map(_shown, each[name])) for name in drawn))
    return table


def _shown(value: float | str) -> str:
    # Times without fractions of seconds, which would make the table wider than a screen.
    return re.sub(r"\.[0-9]+Z$", "Z", value) if isinstance(value, str) else f"{value:.6g}"


def _plain(values: Any) -> list[Any]:
    """An array as lists of numbers, or of times in ISO format."""
    if values.dtype.kind != "M":
        return values.tolist()
    return [[str(value) + "Z" for value in row] for row in values]
