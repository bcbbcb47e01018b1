"""The command `see`."""

from __future__ import annotations

import csv
from typing import Annotated

import typer

from numerate.cli.source import check_text
from numerate.cli.terminal import write_json
from numerate.errors import BadInput

__all__ = ["COMMANDS", "see", "table_cells"]

KINDS, METHODS = ("svg", "png", "pdf"), ("pca", "tsne")


def see(
    text: Annotated[str, typer.Argument(help="A text, such as a question or a statement.")],
    model: Annotated[list[str], typer.Option(help="A saved model or masked language model; repeat to compare.")],
    second: Annotated[str | None, typer.Option(help="A second text that the first attends to.")] = None,
    table: Annotated[str | None, typer.Option(help="A CSV file instead: each cell is read alone.")] = None,
    delimiter: Annotated[str, typer.Option(help="Delimiter of the CSV file; TabFact's is #.")] = ",",
    layers: Annotated[
        str, typer.Option(help="Layers by commas, 0 for the embeddings; default: first, middle, last.")
    ] = "",
    attention_layer: Annotated[int, typer.Option(help="Layer of the attention map.")] = -2,
    method: Annotated[str, typer.Option(help="Projection of states to a plane: pca or tsne.")] = "pca",
    recipe: Annotated[str, typer.Option(help="Recipe that is attached to plain models.")] = "subwords",
    kind: Annotated[str, typer.Option(help="svg, png or pdf.")] = "svg",
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the figures.")] = "out/see",
) -> None:
    """Draw what models attend to, and where words and numbers lie in their layers.

    With two models, as before and after pre-training, the panels of each are a row. One JSON object per model says how
    well distances of numbers in a layer agree with their values, from -1 to 1.
    """
    check_text(text, "text")
    for name, value, known in (("kind", kind, KINDS), ("method", method, METHODS)):
        if value not in known:
            raise BadInput(f"--{name} must be one of {', '.join(known)}, got {value!r}")
    if second is not None and table is not None:
        raise BadInput("give --second or --table, not both")
    try:
        wanted = [int(part) for part in layers.split(",") if part.strip()]
    except ValueError:
        raise BadInput(f"--layers must be whole numbers by commas, as 0,3,6, got {layers!r}") from None
    from numerate.apps.inner_views import see as work

    other = second if table is None else table_cells(table, delimiter)
    options = {"layers": wanted, "attention_layer": attention_layer, "method": method, "recipe": recipe, "kind": kind}
    for found in work(text, model, output, second=other, **options):
        write_json(found)


def table_cells(path: str, delimiter: str = ",") -> list[str]:
    """The cells of a CSV file that are not empty, row by row, the header first.

    Raises:
        BadInput: The delimiter is not one character, or the file has no cell.
    """
    from numerate.training.text_files import numbered_lines

    if len(delimiter) != 1:
        raise BadInput(f"--delimiter must be one character, got {delimiter!r}")
    lines = [line for _, line in numbered_lines(path)]
    try:
        cells = [cell.strip() for row in csv.reader(lines, delimiter=delimiter) for cell in row if cell.strip()]
    except csv.Error as error:
        raise BadInput(f"{path}: not CSV: {error}") from None
    if not cells:
        raise BadInput(f"{path}: a table without cells")
    return cells


COMMANDS = (see,)
