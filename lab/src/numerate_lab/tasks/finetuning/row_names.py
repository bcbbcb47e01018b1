"""Rows of fine-tuning tasks by name: how a model reads numbers, and behind an `@` the model that it starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.config import ConfigError
from numerate.modeling.recipe import recipe_names
from numerate.registry import UnknownNameError, embedders, near_names
from numerate_lab.engine.paper_tables import load_yaml
from numerate_lab.tasks.finetuning.starting_points import BARE
from numerate_lab.tasks.masked_prediction.prediction_setup import encoding_fields

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["row_fields"]

_ROWS = load_yaml("numerate_lab.tasks.finetuning", "rows.yaml")
_NO_HEAD = "none"


def row_fields(name: str, known: Collection[str] = ("recipe", "parts", "start")) -> dict[str, Any]:
    """Fields of the trial that a row's name stands for.

    | name | the model reads |
    |---|---|
    | `bare` | its own subwords |
    | `words` | the same, all numbers written as words |
    | `addback-NAME`, `replace-NAME` | LUNA's notations with an embedder of `rows.yaml`, or any registered one |
    | `prompts-NAME` | its own subwords; vectors of numbers are keys and values of every layer |
    | a recipe | what `attach` makes of it; all others are encodings of masked prediction |

    Behind a `+` stands a head, or `none`; behind an `@` the name of a start, or nothing for the trial's model.

    Args:
        name: The row.
        known: Fields that the task's trial has.

    Raises:
        UnknownNameError: There is no such row.
        ConfigError: The task cannot have this row, or the name of a start is missing.

    Example:
        >>> row_fields("addback-dice@distilled")
        {'recipe': 'luna', 'parts': {'embedder': {'kind': 'dice'}}, 'start': 'distilled'}
        >>> row_fields("bare"), row_fields("replace")
        ({'recipe': 'subwords'}, {'recipe': 'luna-replace'})
    """
    first, at, start = name.partition("@")
    if at and not start:
        raise ConfigError(f"encoding {name!r}: the name of a start is missing behind the @")
    found = _encoding(first)
    for field in ("spelled", "prompts"):
        if field in found and field not in known:
            raise ConfigError(
                f"encoding {name!r}: this task has no such row: words is one of tatqa, prompts of tabfact, too"
            )
    return {key: value for key, value in found.items() if key in known} | ({"start": start} if at else {})


def _encoding(name: str) -> dict[str, Any]:
    if name == "words":
        return {"recipe": BARE, "spelled": True}
    first, plus, head = name.partition("+")
    notation, dash, embedder = first.partition("-")
    if first == "bare":
        found: dict[str, Any] = {"recipe": BARE}
    elif notation in _ROWS["notations"]:
        found = _of_notation(first, notation, embedder if dash else None)
    elif first in recipe_names():  # as it is today, and not as an older table has it
        found = {"recipe": first}
    else:
        return encoding_fields(name, others=("bare", "words", *_ROWS["notations"]))
    if plus and notation == "prompts":
        raise ConfigError(f"encoding {name!r}: number prompts have no head")
    if plus:
        given = None if head == _NO_HEAD else encoding_fields(f"num+{head}")["parts"]["head"]
        found["parts"] = dict(found.get("parts", {})) | {"head": given}
    return found


def _of_notation(name: str, notation: str, embedder: str | None) -> dict[str, Any]:
    plan, variants = _ROWS["notations"][notation], _ROWS["embedders"]
    found = {key: dict(value) if isinstance(value, dict) else value for key, value in plan.items()}
    if embedder is None and notation != "prompts":
        return found
    chosen = embedder or "1M"
    if chosen not in variants and chosen not in embedders:
        names = [f"{way}-{one}" for way in _ROWS["notations"] for one in (*variants, *embedders.names())]
        raise UnknownNameError(f"unknown encoding {name!r}: {near_names(name, names)}")
    options = dict(variants[chosen]) if chosen in variants else {"kind": embedders.name_of(chosen)}
    if notation == "prompts":
        return found | {"prompts": options}
    return found | {"parts": {"embedder": options}}
