"""Ways to write numbers for a model, by name: what goes in, and which head says what comes out.

A name is that of a notation or an embedder, and behind a `+` that of a head: `p10`, `digits`, `xval+scalar`,
`log-fourier+mixture`. Written numbers (`p10`, `digits`) come out as they go in, as tokens; vectors need a head.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numerate.registry import UnknownNameError, embedders, heads, near_names

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SPOKEN", "WRITTEN", "Encoding", "encoding_names", "encoding_of", "grid"]

_RANGED = ("p10", "p1000", "b1999", "fp15")
_RANGED_DIGITS = 8
"""Whole digits that xVal's texts have exponents for; the paper's own products of 5 digits have more."""
WRITTEN = (*_RANGED, "keep")
"""Notations whose tokens are filled in all at once, each by itself, as in xVal's masked training."""
SPOKEN: dict[str, dict[str, Any]] = {"digits": {}, "digits-reversed": {"reverse": True}, "digits-3": {"group": 3}}
"""Notations of as many tokens as the number has digits. They are said one after the other by a model that only looks
back: filled in all at once, their number would tell the answer's length."""
_USUAL_HEADS = {"xval": "scalar", "fourier": "fourier-digits", "bits": "bits", "residues": "residues"}
_MADE_OF_OTHERS = ("sum", "concat", "rescaled")
_DIGITS = ("fourier", "fourier-digits", "residues")
_MOST_DIGITS = 15


@dataclass(frozen=True)
class Encoding:
    """One way to write numbers, as options of `attach`.

    Attributes:
        name: As given.
        causal: Whether the answer is said token by token, by a model that only looks back.
        scaled: Whether values have to be brought near 0 first.
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
        return Encoding(self.name, self.causal, self.scaled, options)


def encoding_names() -> list[str]:
    """All names that may stand before the `+`."""
    return [*WRITTEN, *SPOKEN, "xval", *(name for name in embedders.names() if name not in _MADE_OF_OTHERS)]


def encoding_of(name: str) -> Encoding:
    """The encoding called so.

    Example:
        >>> encoding_of("fourier").options["head"]
        {'kind': 'fourier-digits'}
        >>> encoding_of("xval+mixture").scaled, encoding_of("digits").causal
        (True, True)
    """
    first, plus, head = name.partition("+")
    if first not in encoding_names():
        raise UnknownNameError(f"unknown encoding {first!r}: {near_names(first, encoding_names())}")
    if first in WRITTEN or first in SPOKEN:
        if plus:
            raise ValueError(f"{name!r}: numbers in {first} come out as tokens, without a head")
        if first in SPOKEN:
            return Encoding(name, True, options={"notation": {"kind": "digits", "slot": True} | SPOKEN[first]})
        return Encoding(name, options={"notation": {"kind": first, "slot": True}})
    chosen = head or _USUAL_HEADS.get(first, "mixture")
    if chosen not in heads:
        raise UnknownNameError(f"unknown head {chosen!r}: {near_names(chosen, heads.names())}")
    options: dict[str, Any] = {"notation": {"kind": "marker"}, "placement": "add", "head": {"kind": chosen}}
    if first == "xval":
        options |= {"embedder": {"kind": "scaled-value"}, "placement": "scale"}
        return Encoding(name, scaled=True, options=options)
    return Encoding(name, scaled=chosen == "scalar", options=options | {"embedder": {"kind": first}})


def grid(encodings: Sequence[str], chosen_heads: Sequence[str] = ()) -> list[str]:
    """Every encoding with every head; names that have a head, or need none, stand for themselves.

    Example:
        >>> grid(["p10", "xval+scalar", "float"], ["mixture", "quantiles"])
        ['p10', 'xval+scalar', 'float+mixture', 'float+quantiles']
    """
    names: list[str] = []
    for name in encodings:
        alone = not chosen_heads or "+" in name or name in WRITTEN or name in SPOKEN
        names += [name] if alone else [f"{name}+{head}" for head in chosen_heads]
    for name in names:
        encoding_of(name)
    return list(dict.fromkeys(names))
