"""Encodings by name."""

from __future__ import annotations

import pytest

from numerate.registry import UnknownNameError
from numerate_lab.engine.encodings import SPOKEN, WRITTEN, encoding_names, encoding_of, grid


@pytest.mark.parametrize("name", encoding_names())
def test_every_name_is_an_encoding(name: str) -> None:
    encoding = encoding_of(name)
    assert encoding.has_head == (name not in WRITTEN and name not in SPOKEN)
    assert encoding.causal == (name in SPOKEN)


def test_heads_are_named_behind_a_plus() -> None:
    assert encoding_of("float").options["head"] == {"kind": "mixture"}
    assert encoding_of("bits").options["head"] == {"kind": "bits"}
    assert encoding_of("float+quantiles").options["head"] == {"kind": "quantiles"}
    assert encoding_of("xval").options["placement"] == "scale" and encoding_of("xval").scaled
    assert encoding_of("log-fourier+scalar").scaled and not encoding_of("log-fourier").scaled


def test_bad_names_get_a_hint() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown encoding 'p100': did you mean .*p1000"):
        encoding_of("p100")
    with pytest.raises(UnknownNameError, match="unknown head 'mixtur': did you mean 'mixture'"):
        encoding_of("float+mixtur")
    with pytest.raises(ValueError, match="'p10\\+mixture': numbers in p10 come out as tokens"):
        encoding_of("p10+mixture")


def test_digits_follow_the_numbers() -> None:
    fitted = encoding_of("fourier").for_digits(7, 2).options
    assert fitted["embedder"] == {"kind": "fourier", "integer_digits": 7, "fraction_digits": 2}
    assert fitted["head"] == {"kind": "fourier-digits", "integer_digits": 7, "fraction_digits": 2}
    assert encoding_of("fourier").for_digits(20, 9).options["head"]["integer_digits"] == 15, "all that a float64 holds"
    assert encoding_of("float").for_digits(7, 2) == encoding_of("float")


def test_a_grid_crosses_what_has_no_head_yet() -> None:
    assert grid(["p10", "xval"], ["scalar", "mixture"]) == ["p10", "xval+scalar", "xval+mixture"]
    assert grid(["xval", "xval"]) == ["xval"]
