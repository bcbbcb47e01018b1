"""Figures do not depend on the user's settings, and a missing matplotlib is a clear error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import matplotlib
import pytest

from numerate import report
from numerate.report.figure_style import PALETTE, load, number_label, rendered, stroke

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axis import Axis

CURVES = {"price in $ and $": ([0, 1, 2], [3.0, 2.0, 1.5])}


def test_missing_matplotlib_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'^figures need matplotlib: pip install "numerate\[plots\]"$'):
        load()
    with pytest.raises(ImportError, match=r"numerate\[plots\]"):
        report.learning_curves(CURVES)


def test_same_data_give_the_same_bytes_with_any_user_settings() -> None:
    for kind in ["svg", "png", "pdf"]:
        first = rendered(report.learning_curves(CURVES), kind)
        with matplotlib.rc_context(
            {"font.size": 30, "lines.linewidth": 9, "svg.hashsalt": None, "text.parse_math": True}
        ):
            assert rendered(report.learning_curves(CURVES), kind) == first, kind
        assert matplotlib.rcParams["font.size"] == matplotlib.rcParamsDefault["font.size"], kind


def test_figures_have_no_date_and_keep_dollar_signs() -> None:
    text = rendered(report.learning_curves(CURVES)).decode()
    assert "<dc:date>" not in text
    assert "price in $ and $" in text
    assert "matplotlib.pyplot" not in sys.modules


def test_maps_are_reproducible() -> None:
    vectors = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    one, other = (rendered(report.cosine_map(vectors, ["1", "2", "3"])) for _ in range(2))
    assert one == other


def test_save_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = report.learning_curves(CURVES)
    path = report.save(figure, tmp_path / "new" / "a.svg")
    assert path.read_bytes() == rendered(figure)
    with pytest.raises(ValueError, match=r"must end in .svg, .png or .pdf, got '.*a\.gif'"):
        report.save(figure, tmp_path / "a.gif")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report.save(figure, tmp_path / "new" / "b.svg")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.svg"]


def test_28_strokes_differ() -> None:
    looks = [tuple(stroke(index).values()) for index in range(28)]
    assert len(set(looks)) == 28
    assert len(set(PALETTE)) == len(PALETTE)


def test_number_labels() -> None:
    for value, label in [
        (1e-3, "0.001"),
        (9999.0, "9999"),
        (1e4, "10⁴"),
        (-1e-12, "−10⁻¹²"),
        (2.5e300, "2.5·10³⁰⁰"),
        (-0.0, "0"),
    ]:
        assert number_label(value) == label, value


def labels(axis: Axis) -> list[str]:
    minor = axis.get_minor_formatter()
    return [minor(value) for value in axis.get_minorticklocs()]


def test_short_logarithmic_axes_have_more_labels() -> None:
    short = report.learning_curves({"a": ([0, 1], [1.2, 8.0])}, log=True).axes[0].yaxis
    assert {"2", "5", ""} == set(labels(short))
    long = report.learning_curves({"a": ([0, 1], [1.2, 8e5])}, log=True).axes[0].yaxis
    assert set(labels(long)) == {""}


def test_signed_ticks_are_few() -> None:
    for values, ticks in [
        ([0.5, 80.0, 2000.0], [0, 0.1, 1, 10, 100, 1000]),
        ([-0.5, -300.0], [-100, -10, -1, -0.1, 0]),
        ([-1e12, 1e-3, 1e12], [-1e12, -1e6, -1, 0, 1, 1e6, 1e12]),
        ([0.0], [0]),
    ]:
        axes = report.predicted_against_true(values, values).axes[0]
        assert axes.get_xticks().tolist() == axes.get_yticks().tolist() == ticks, values


@pytest.mark.parametrize("label", ["a\0b", "\x1b[31mred", "\ud800", "\ufffe", "a--b-->", "<&>", "\x9b"])
def test_any_label_leaves_an_svg_well_formed(label: str, tmp_path: Path) -> None:
    figure = report.learning_curves({label: ([0, 1], [2.0, 1.0])}, title=label, ylabel=label)
    ElementTree.fromstring(rendered(figure))
    assert rendered(figure, "png") and rendered(figure, "pdf")
    written = report.page(label, {label: [label, figure]}, tmp_path / "page.html").read_text("utf-8")
    assert not set(written) & set("\0\x1b\x9b")
