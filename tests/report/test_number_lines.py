"""Points of the number line are probabilities of single numerals."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
import torch
from heads.examples import fresh, states

from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable
from numerate.report import number_line
from numerate.report.number_lines import _units, _written

F64 = torch.tensor([123.4, -7.0], dtype=torch.float64)


def asked(texts: list[str]) -> NumberTable:
    return NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])


def test_points_are_probabilities_of_numerals() -> None:
    for name in ["mog", "digit-rnn", "mixture", "scalar", "h-softmax", "combination"]:
        with torch.no_grad():
            distribution = fresh(name)(states(3))
            axes = number_line(distribution, 1, low=-0.5, high=3, gold=1.25, title=name).axes[0]
            one = distribution[1].without_unknown()
        for decimals, line in enumerate(axes.lines[:3]):
            texts = [
                f"{Decimal(u) / 10**decimals:.{decimals}f}"
                for u in range(-5 * 10**decimals // 10, 3 * 10**decimals + 1)
            ]
            texts = [text for text in texts if float(text) >= -0.5]
            texts = ["0" if text == "-0" else text for text in texts]
            rows = one[torch.zeros(len(texts), dtype=torch.int64)]
            with torch.no_grad():
                table = asked(texts)
                expected = (rows.log_prob(table) if one.is_written else rows.log_mass(table)).exp()
            seen = expected > 0
            np.testing.assert_array_equal(line.get_xdata(), table.values()[seen])
            np.testing.assert_allclose(np.asarray(line.get_ydata()), expected[seen].numpy(), rtol=1e-5)
        assert [line.get_label() for line in axes.lines] == ["0 decimals", "1 decimal", "2 decimals", "gold value"], (
            name
        )
        assert np.asarray(axes.lines[3].get_xdata()).tolist() == [1.25, 1.25], name
        assert (axes.get_yscale(), axes.get_xlim()) == ("log", (-0.5, 3.0)), name
        assert axes.get_title(loc="left") == name, name


def test_masses_of_a_precision_sum_to_its_probability() -> None:
    with torch.no_grad():
        distribution = fresh("scalar")(states(1))
        middle, width = float(distribution.median()), 30
        axes = number_line(distribution, low=middle - width, high=middle + width, points=10_000).axes[0]
    assert [float(np.sum(line.get_ydata())) for line in axes.lines] == pytest.approx([1.0] * 3, abs=1e-6)


def test_vocabulary_is_drawn_as_marks() -> None:
    with torch.no_grad():
        line = number_line(fresh("softmax")(states(1)), low=0, high=100, precisions=(0,)).axes[0].lines[0]
    assert (line.get_linestyle(), line.get_marker()) == ("None", "o")
    assert np.asarray(line.get_xdata()).tolist() == [0, 3, 10, 12, 17, 45, 60]


def test_selection_keeps_the_numerals_of_a_vocabulary() -> None:
    for name in ["softmax", "combination"]:
        with torch.no_grad():
            axes = number_line(fresh(name)(states(1)), low=-10, high=2_000, precisions=(0, 2), points=50).axes[0]
        assert {0, 3, 10, 12, 17, 45, 60, 257, 365, 1500, 1987} <= set(
            np.asarray(axes.lines[0].get_xdata()).tolist()
        ), name
        assert {-7.25, 0.04, 7.75} <= set(np.asarray(axes.lines[1].get_xdata()).tolist()), name


def test_default_range_is_the_90_percent_interval() -> None:
    with torch.no_grad():
        distribution = fresh("mixture")(states(2))
        low, high = (float(end) for end in distribution[0].interval(0.9))
        start, end = number_line(distribution, precisions=(0,)).axes[0].get_xlim()
        assert start == np.floor(low) and end == np.ceil(high)
        assert number_line(distribution, precisions=(0,), gold=high + 50).axes[0].get_xlim()[1] == np.ceil(high + 50)


def test_selection_from_long_ranges_is_random() -> None:
    units, of = _units(0.0, 1e6, 1, 500, F64)
    assert of == 10_000_001
    assert 1234 in units and 500 <= len(units) <= 501
    assert units == sorted(set(units)) and units[0] >= 0 and units[-1] <= 10_000_000
    assert len({unit % 10 for unit in units}) == 10
    assert max(np.diff(units)) <= 40_000
    assert _units(0.0, 1e6, 1, 500, F64) == (units, of)
    axes = number_line(fresh("scalar")(states(1)), low=0, high=5_000, precisions=(2,), points=100).axes[0]
    assert str(axes.lines[0].get_label()).endswith(" of 500,001)")


def test_ends_of_the_range_are_taken_as_written() -> None:
    assert _units(0.1, 0.3, 1, 100, F64) == ([1, 2, 3], 3)
    assert _units(-0.15, 0.29, 1, 100, F64) == ([-1, 0, 1, 2], 4)
    assert [_written(u, 2) for u in (-5, 0, 7, 123, -1234)] == ["-0.05", "0.00", "0.07", "1.23", "-12.34"]
    assert _written(-12, 0) == "-12"


def test_bad_input() -> None:
    for options, message in [
        ({"row": 3}, "row=3"),
        ({"precisions": (0, -1)}, r"got \(0, -1\)"),
        ({"precisions": ()}, r"got \(\)"),
        ({"low": 3, "high": 1}, "got 3 and 1"),
        ({"low": 0, "high": 1e15}, "2 decimals, numbers must be at most"),
        ({"gold": float("nan")}, "gold must be finite, got nan"),
        ({"points": 1}, "points=1"),
    ]:
        with pytest.raises(ValueError, match=message):
            number_line(fresh("scalar")(states(1)), **options)  # type: ignore[arg-type]
