"""Options of `attach`, declared once for recipes, runs, saved models and `attach` itself.

A new option is one field here (and its type in `AttachArguments`), and the code that implements it: `attach` then takes
it as an argument, recipes and runs as a key, and a saved model keeps it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from numerate.config import Config, ConfigError

if TYPE_CHECKING:
    from numerate.embedders.base import Embedder
    from numerate.heads.base import Head
    from numerate.notation.base import Notation
    from numerate.reading.base import Reader

__all__ = [
    "NEIGHBOUR_OPTIONS",
    "AttachArguments",
    "AttachOptions",
    "PlacementOptions",
    "check_options",
    "fill_defaults",
]

NEIGHBOUR_OPTIONS = ("reach", "late_reach", "relations")
"""Options through which a number affects tokens and numbers near it; encoder-decoders do not support them."""


def _option(default: Any) -> Any:
    """A field that is None where nobody sets it: the recipe decides then, and without a recipe it is `default`."""
    return dataclasses.field(default=None, metadata={"default": default})


def fill_defaults(config: Config) -> None:
    """Replaces each None by the field's default: for the `__post_init__` of a config that leaves nothing open."""
    for field in dataclasses.fields(config):
        if getattr(config, field.name) is None and "default" in field.metadata:
            object.__setattr__(config, field.name, field.metadata["default"])


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Config):
    """How the vectors of numbers enter a backbone.

    In a causal model, `reach`, `late_reach` and `relations` look back only: tokens and numbers are affected by the
    numbers before them. Encoder-decoders do not support these three.

    Attributes:
        placement: What a number's vector does to the token embedding at its slot: `replace` it (the default), `add` to
            it, or `scale` it.
        gated: Multiply the vectors by a learnt gate that starts at 0, so that nothing changes before training.
        reach: On how many tokens on each side of a number its vector is added, too, through learnt maps that start
            at 0. In a causal model, only on tokens after the number.
        late_reach: The same in the backbone's last hidden state, which its language-model head reads: a frozen backbone
            need not carry the number's vector there.
        relations: To how many numbers on each side a number gets log-ratio features, which are added to its vector.
            In a causal model, only to numbers before it.
        pooled: The number head reads the mean of the text's last hidden states, added to the state at the number (in a
            causal model, of the states up to it). For a target that depends on the whole text: before training, the
            state at a [NUM] behind a text says little about the text. For encoders and decoders without
            a language-model head.
    """

    kind: ClassVar[str] = "placement-options"
    placement: str | None = _option("replace")
    gated: bool | None = _option(False)
    reach: int | None = _option(0)
    late_reach: int | None = _option(0)
    relations: int | None = _option(0)
    pooled: bool | None = _option(False)


@dataclass(frozen=True, kw_only=True)
class AttachOptions(PlacementOptions):
    """Which reader, notation, embedder, placement and head make up a system.

    A part (notation, embedder, head) is the name of its kind, or a dict with its `kind` and options.

    Attributes:
        reader: How numbers are found in a text.
        reader_options: Options of the reader.
        notation: How numbers are written into the token sequence; by default `marker`.
        kinds: Which kinds of numeral are treated; None for all.
        written: Use the bare number as it is written (1.5 of `1.5 billion`) instead of its value.
        embedder: How a number becomes a vector; None for no vectors.
        head: How numbers are predicted; None for no number head.
    """

    kind: ClassVar[str] = "attach-options"
    reader: str | None = _option("standard")
    reader_options: dict[str, Any] | None = None
    notation: str | dict[str, Any] | None = None
    kinds: tuple[str, ...] | None = None
    written: bool | None = _option(False)
    embedder: str | dict[str, Any] | None = None
    head: str | dict[str, Any] | None = None

    def arguments(self) -> dict[str, Any]:
        """The options that are set, by name, as `attach` takes them: for `attach`, `head=None` means no number head."""
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(AttachOptions)}
        return {name: value for name, value in given.items() if value is not None}


def check_options(given: dict[str, Any]) -> None:
    """Refuses options of placement that are of another type, such as `no` for False, or negative.

    Raises:
        ConfigError: An option is wrong; the message quotes it.
    """
    for option in dataclasses.fields(PlacementOptions):
        value, usual = given.get(option.name), option.metadata["default"]
        if value is None or isinstance(usual, str):
            continue
        if type(value) is not type(usual):
            wanted = "True or False" if isinstance(usual, bool) else "a whole number"
            raise ConfigError(f"{option.name} must be {wanted}, got {value!r}")
        if value < 0:
            raise ConfigError(f"{option.name} must be at least 0, got {value}")


class AttachArguments(TypedDict, total=False):
    """The types of `AttachOptions` as arguments of `attach`, where a part may be the object itself."""

    reader: str | Reader | None
    reader_options: dict[str, Any] | None
    notation: str | dict[str, Any] | Notation | None
    kinds: tuple[str, ...] | None
    written: bool | None
    embedder: str | dict[str, Any] | Embedder | None
    placement: str | None
    gated: bool | None
    reach: int | None
    late_reach: int | None
    relations: int | None
    pooled: bool | None
    head: str | dict[str, Any] | Head | None
