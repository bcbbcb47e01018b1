"""Encodings by name."""

from __future__ import annotations

import pytest

from numerate.modeling.attaching import recipe_names
from numerate.registry import UnknownNameError, embedders, notations
from numerate_lab.engine.encodings import encoding_names, encoding_of, with_heads


def test_every_registered_part_is_an_encoding() -> None:
    names = encoding_names()
    assert set(notations.names()) - {"marker", "addback", "prefix", "drop"} < set(names)
    assert set(embedders.names()) - {"sum", "concat", "rescaled", "deepened"} < set(names)
    assert set(recipe_names()) < set(names)
    for name in names:
        encoding = encoding_of(name)
        assert encoding.name == name and not (encoding.has_head and encoding.causal)
        tokens = name in notations.names() or name.startswith("digits") or name in ("numbert", "subwords")
        assert encoding.has_head != tokens, name
        at_once = name in ("p10", "p1000", "b1999", "fp15", "keep", "subwords")
        assert encoding.causal == (tokens and not at_once), name


def test_heads_are_named_behind_a_plus() -> None:
    assert encoding_of("float").options["head"] == {"kind": "mixture"}
    assert encoding_of("bits").options["head"] == {"kind": "bits"}
    assert encoding_of("float+quantiles").options["head"] == {"kind": "quantiles"}
    assert encoding_of("in-place+quantiles").options["head"] == {"kind": "quantiles"}
    assert encoding_of("xval").options["placement"] == "scale" and encoding_of("xval").scaled
    assert encoding_of("log-fourier+scalar").scaled and not encoding_of("log-fourier").scaled
    assert with_heads(["p10", "xval", "xval"], ["scalar", "mixture"]) == ["p10", "xval+scalar", "xval+mixture"]


def test_bad_names_get_a_hint() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown encoding 'p100': did you mean .*p1000"):
        encoding_of("p100")
    with pytest.raises(UnknownNameError, match="unknown head 'mixtur': did you mean 'mixture'"):
        encoding_of("float+mixtur")
    with pytest.raises(ValueError, match="'p10\\+mixture': numbers in p10 are predicted as tokens"):
        encoding_of("p10+mixture")


def test_digits_follow_the_numbers() -> None:
    fitted = encoding_of("fourier").for_digits(7, 2).options
    assert fitted["embedder"] == {"kind": "fourier", "integer_digits": 7, "fraction_digits": 2}
    assert fitted["head"] == {"kind": "fourier-digits", "integer_digits": 7, "fraction_digits": 2}
    complement = encoding_of("fourier+complement-digits").for_digits(7, 2).options["head"]
    assert complement == fitted["head"] | {"complement": True}
    heavy = encoding_of("fourier+heavy-sign").for_digits(7, 2).options["head"]
    assert heavy == fitted["head"] | {"sign_weight": 1.0}
    assert encoding_of("fourier").for_digits(20, 9).options["head"]["integer_digits"] == 15, "all that a float64 holds"
    assert encoding_of("float").for_digits(7, 2) == encoding_of("float")
