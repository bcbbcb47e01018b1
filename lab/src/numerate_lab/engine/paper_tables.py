"""A paper's tables: grids from a YAML file with settings and the paper's figures, run or recomputed, and rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from numerate.errors import BadInput
from numerate.files import read_yaml
from numerate.registry import near_names
from numerate_lab.engine.grid import recompute, run_grids
from numerate_lab.registry import tables

if TYPE_CHECKING:
    from numerate_lab.engine.grid import Grid
    from numerate_lab.engine.task import Log

__all__ = ["Options", "Paper", "check_name", "load_scales", "load_yaml", "merged", "paper", "reproduce"]

P = TypeVar("P", bound="type[Paper]")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `numerate reproduce`; a table uses those that it knows.

    Attributes:
        output: The folder of results; for `recompute` also a packed table.
        scale: How large trainings are, one of the table's scales.
        models: Encodings or models; for masked prediction the pretrained models.
        encoders: Encodings, for tables whose `models` are pretrained models.
        corpora: Corpora instead of the table's.
        data: The folder or file of the data; None for synthetic data.
        seeds: Trainings of each encoding instead of the scale's.
        seconds: Time limit of each training.
        processes: How many encodings are trained at a time.
        save: Whether to save models.
        recompute: Whether to compute stored figures again instead of training.
        train: What is trained: `head`, `all` or `both`.
        plain: A file of texts without numbers.
        starts: Name -> folder of a model that a row such as `luna@pretrained` starts from.
        settings: Fields of every trial, over those of the scale.
        log: Prints a line.
    """

    output: str = "results"
    scale: str = "tiny"
    models: tuple[str, ...] = ()
    encoders: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    data: str | None = None
    seeds: int | None = None
    seconds: float | None = None
    processes: int = 1
    save: bool = False
    recompute: bool = False
    train: str = "head"
    plain: str | None = None
    starts: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    log: Log = print


class Paper:
    """The tables of one paper; register it with `paper`."""

    takes: ClassVar[tuple[str, ...]] = ()
    """Which of `starts` and `settings` it uses; others are refused, since a wrong row would come of ignoring them."""

    def grids(self, table: str, options: Options) -> Sequence[Grid]:
        """The grids behind a table; empty for a table that needs no training."""
        raise NotImplementedError

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> Sequence[Path]:
        """Renders a table from the results that are there; the files that were written."""
        raise NotImplementedError


def paper(*names: str) -> Callable[[P], P]:
    """A decorator that registers a `Paper` for its tables."""

    def decorate(made: P) -> P:
        for name in names:
            tables.register(name)(made)
        return made

    return decorate


def reproduce(table: str, options: Options) -> None:
    """Runs the trials of a table that have no result yet and renders it, or recomputes its figures.

    Raises:
        BadInput: A name, a setting or a file is wrong, or recomputed figures differ.
    """
    try:
        made: Paper = tables[table]()
        for name, flag in (("starts", "--start"), ("settings", "--option")):
            if getattr(options, name) and name not in made.takes:
                raise ValueError(f"{table} takes no {flag}, got {', '.join(getattr(options, name))}")
        grids = made.grids(table, options)
        if options.recompute:
            _recompute(table, grids, options)
            return
        try:
            if grids:
                run_grids(grids, options.output, processes=options.processes, log=options.log)
        finally:  # a table of what there is, even if some encodings failed
            if not grids or any(Path(options.output, grid.name).is_dir() for grid in grids):
                for file in made.write(table, grids, options):
                    options.log(str(file))
    except (ValueError, LookupError, OSError, RuntimeError) as error:
        raise BadInput(" ".join(str(error).split())[:500]) from error


def _recompute(table: str, grids: Sequence[Grid], options: Options) -> None:
    if not grids:
        raise BadInput(f"{table} has no trained models: there is nothing to recompute")
    found = {f"{grid.name}, {name}": same for grid in grids for name, same in recompute(grid, options.output).items()}
    for name, same in found.items():
        options.log(f"{name}: {'predictions were not kept' if same is None else 'same' if same else 'DIFFERENT'}")
    wrong = [name for name, same in found.items() if same is False]
    if all(same is None for same in found.values()):
        raise BadInput(f"{options.output}: there are no predictions to compute from")
    if wrong:
        raise BadInput(f"{len(wrong)} of {len(found)} results differ from their predictions: {'; '.join(wrong)}")


def load_yaml(package: str, file: str = "tables.yaml") -> dict[str, Any]:
    """The YAML file of a paper's package."""
    return read_yaml((resources.files(package) / file).read_text(encoding="utf-8"), file)


def load_scales(*names: str) -> dict[str, dict[str, Any]]:
    """The scales of `tasks/scales.yaml` under some names, later ones over earlier ones."""
    found = load_yaml("numerate_lab.tasks", "scales.yaml")
    return merged(*(found[name] for name in names))


def check_name(what: str, given: str, known: Sequence[str]) -> None:
    """Raises a `ValueError` that lists near names if a name is not known.

    Example:
        >>> check_name("scale", "smal", ["tiny", "small"])
        Traceback (most recent call last):
        ValueError: unknown scale 'smal': did you mean 'small'?
    """
    if given not in known:
        raise ValueError(f"unknown {what} {given!r}: {near_names(given, list(known))}")


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings, later ones over earlier ones.

    Example:
        >>> merged({"seeds": 1, "trial": {"width": 32}}, {"trial": {"layers": 2}})
        {'seeds': 1, 'trial': {'width': 32, 'layers': 2}}
    """
    found: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
            found[key] = merged(found[key], value) if both else value
    return found
