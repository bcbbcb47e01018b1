"""Encodings of numbers by name: what the model reads, and which head predicts numbers.

A name is a notation, an embedder or a recipe, and behind a `+` a head: `p10`, `digits`, `xval+scalar`,
`log-fourier+mixture`, `in-place`. Every registered notation, embedder and head can be named, also those of plugins.
Notations (`p10`, `digits`) are predicted as they are read, as tokens; vectors need a head.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numerate.modeling.attaching import load_recipe, recipe_names
from numerate.modeling.recipe import current_name
from numerate.objectives.base import Vocabulary
from numerate.objectives.masked import Masked
from numerate.registry import UnknownNameError, embedders, heads, near_names, notations

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Encoding", "encoding_names", "encoding_of", "with_heads"]

_RANGED = ("p10", "p1000", "b1999", "fp15")
_RANGED_DIGITS = 8
"""Whole digits that xVal's texts have exponents for; the paper's own products of 5 digits have more."""
_AT_ONCE = (*_RANGED, "keep")
"""Notations whose tokens are predicted all at once, each by itself, as in xVal's masked training."""
_IN_TURN: dict[str, dict[str, Any]] = {"digits-reversed": {"reverse": True}, "digits-3": {"group": 3}}
"""Variants of `digits`. They, and all other notations, are predicted token by token by a causal model: predicted at
once, the number of tokens would tell the answer's length."""
_SLOTS = ("marker", "addback", "prefix", "drop")
"""Notations that write no digits: an embedder or nothing stands for the number."""
_USUAL_HEADS = {"xval": "scalar", "fourier": "fourier-digits", "bits": "bits", "residues": "residues"}
_HEAD_VARIANTS: dict[str, dict[str, Any]] = {
    "complement-digits": {"kind": "fourier-digits", "complement": True},
    "complement-light-sign": {"kind": "fourier-digits", "complement": True, "sign_weight": 0.05},
    "heavy-sign": {"kind": "fourier-digits", "sign_weight": 1.0},
}
"""Names behind the `+` that stand for a head with options. With `heavy-sign` the sign weighs as much as all digits."""
_MADE_OF_OTHERS = ("sum", "concat", "rescaled", "deepened")
_DIGITS = ("fourier", "fourier-digits", "residues")
_MOST_DIGITS = 15


@dataclass(frozen=True)
class Encoding:
    """One way to write numbers, as options of `attach`.

    Attributes:
        name: As given.
        causal: Whether the answer is predicted token by token, by a causal model.
        scaled: Whether values have to be scaled to lie near 0.
        options: For `attach`: notation, embedder, placement and head.
    """

    name: str
    causal: bool = False
    scaled: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def has_head(self) -> bool:
        """Whether a head gives the answer, and not tokens."""
        return self.options.get("head") is not None

    def shown(self) -> str:
        """What a masked answer shows: "nothing" or "its length"; see `Masked.shown`.

        Example:
            >>> encoding_of("keep").shown(), encoding_of("in-place").shown()
            ('its length', 'nothing')
        """
        tokens = Vocabulary(None, 0, (), predicts_numbers=self.has_head, spells_numbers=not self.has_head)
        return "nothing" if self.causal else Masked().shown(tokens)

    def levelled(self, size: float) -> Encoding:
        """The same with vectors of this size at first, where numbers are vectors that are added to words.

        Example:
            >>> encoding_of("bits").levelled(2.0).options["embedder"]
            {'kind': 'levelled', 'members': [{'kind': 'bits'}], 'size': 2.0}
        """
        embedder = self.options.get("embedder")
        if embedder is None or self.options["placement"] != "add":
            return self
        wrapped = {"kind": "levelled", "members": [embedder], "size": size}
        return dataclasses.replace(self, options=self.options | {"embedder": wrapped})

    def for_digits(self, integer_digits: int, fraction_digits: int) -> Encoding:
        """The same with as many digits as are needed, where there is a number of them to choose.

        That is FoNE's vectors and heads, residues, and xVal's texts.

        Example:
            >>> encoding_of("p10").for_digits(10, 0).options["notation"]  # up to 999E+7
            {'kind': 'p10', 'slot': True, 'highest': 7}
        """
        whole = min(max(integer_digits, 1), _MOST_DIGITS)
        sizes = {"integer_digits": whole, "fraction_digits": min(fraction_digits, _MOST_DIGITS - whole)}
        options = {
            key: value | sizes if isinstance(value, dict) and value.get("kind") in _DIGITS else value
            for key, value in self.options.items()
        }
        if self.name in _RANGED and integer_digits > _RANGED_DIGITS:
            options["notation"] = options["notation"] | {"highest": integer_digits - 3}
        return dataclasses.replace(self, options=options)


def _notation_names() -> list[str]:
    return [*_AT_ONCE, *_IN_TURN, *(name for name in notations.names() if name not in (*_AT_ONCE, *_SLOTS))]


def encoding_names() -> list[str]:
    """All names that may stand before the `+`."""
    vectors = ["xval", *(name for name in embedders.names() if name not in _MADE_OF_OTHERS)]
    return list(dict.fromkeys([*_notation_names(), *vectors, *recipe_names()]))


def encoding_of(name: str) -> Encoding:
    """The encoding of a name.

    Example:
        >>> encoding_of("fourier").options["head"]
        {'kind': 'fourier-digits'}
        >>> encoding_of("xval+mixture").scaled, encoding_of("digits").causal
        (True, True)
    """
    first, plus, head = name.partition("+")
    first = current_name(first)
    if first in _notation_names():
        if plus:
            raise ValueError(f"{name!r}: numbers in {first} are predicted as tokens, without a head")
        return _of_notation(name)
    if first not in encoding_names():
        raise UnknownNameError(f"unknown encoding {first!r}: {near_names(first, encoding_names())}")
    if first != "xval" and first not in embedders:
        return _of_recipe(name, first, head)
    given = _head_of(head or _USUAL_HEADS.get(first, "mixture"))
    options: dict[str, Any] = {"notation": {"kind": "marker"}, "placement": "add", "head": given}
    if first == "xval":
        options |= {"embedder": {"kind": "scaled-value"}, "placement": "scale"}
        return Encoding(name, scaled=True, options=options)
    return Encoding(name, scaled=given["kind"] == "scalar", options=options | {"embedder": {"kind": first}})


def _head_of(name: str) -> dict[str, Any]:
    return dict(_HEAD_VARIANTS[name]) if name in _HEAD_VARIANTS else {"kind": heads.name_of(name)}


def _of_notation(name: str) -> Encoding:
    if name in _IN_TURN:
        return Encoding(name, True, options={"notation": {"kind": "digits", "slot": True} | _IN_TURN[name]})
    options: Any = {"kind": name, "slot": True}
    if "slot" not in {field.name for field in dataclasses.fields(notations[name].Config)}:
        options = _with_slots(notations[name].build())
    return Encoding(name, name not in _AT_ONCE, options={"notation": options})


def _with_slots(notation: Any) -> Any:
    """A notation whose pieces are the number's slot, so that the number can be asked for."""
    write = notation.write
    notation.write = lambda numeral: [piece._replace(slot=True) for piece in write(numeral)]
    return notation


def _of_recipe(name: str, first: str, head: str) -> Encoding:
    recipe = load_recipe(first)
    kind = str(recipe.notation["kind"])
    if recipe.embedder is None and kind in _notation_names():
        return dataclasses.replace(_of_notation(kind), name=name)
    parts: dict[str, Any] = {"notation": recipe.notation, "embedder": recipe.embedder, "placement": recipe.placement}
    parts |= {
        "gated": recipe.gated,
        "head": _head_of(head) if head else recipe.head or {"kind": "mixture"},
    }
    return Encoding(name, scaled=parts["head"]["kind"] == "scalar", options=parts)


def with_heads(encodings: Sequence[str], chosen: Sequence[str] = ()) -> list[str]:
    """Every encoding with every head; names that have a head, or need none, stand for themselves.

    Example:
        >>> with_heads(["p10", "xval+scalar", "float"], ["mixture", "quantiles"])
        ['p10', 'xval+scalar', 'float+mixture', 'float+quantiles']
    """
    names: list[str] = []
    for name in encodings:
        alone = not chosen or "+" in name or name in _notation_names()
        names += [name] if alone else [f"{name}+{head}" for head in chosen]
    return list(dict.fromkeys(names))
