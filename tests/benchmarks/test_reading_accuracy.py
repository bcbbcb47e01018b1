"""The comparison of readers: matching by overlap, intervals, and the adapters of other libraries."""

import pytest
import reading_accuracy
from other_readers import Found, numerate_finder, quantulum_finder


def test_the_largest_overlap_is_matched():
    found = [Found(0, 4, (1.0,), None), Found(5, 20, (2.0,), "km")]
    assert reading_accuracy.nearest(found, 3, 9) is found[1]
    assert reading_accuracy.nearest(found, 0, 2) is found[0]
    assert reading_accuracy.nearest(found, 4, 5) is None
    assert reading_accuracy.nearest([], 0, 2) is None


def test_intervals_hold_the_share_and_have_width():
    cases = [(document, document % 5 > 0) for document in range(200)]
    share = reading_accuracy.share_of(cases)
    assert share.share == 0.8
    assert share.low < 0.76
    assert share.high > 0.84
    perfect = reading_accuracy.share_of([(document, True) for document in range(100)])
    assert (perfect.share, perfect.high) == (1, 1)
    assert 0.95 < perfect.low < 0.97
    assert reading_accuracy.wilson_interval(0.0, 100)[0] == pytest.approx(0, abs=1e-9)


def test_documents_are_resampled_as_a_whole():
    grouped = reading_accuracy.share_of([(i // 50, i // 50 % 2 == 0) for i in range(200)])
    single = reading_accuracy.share_of([(i, i // 50 % 2 == 0) for i in range(200)])
    assert grouped.high - grouped.low > 3 * (single.high - single.low)


def test_our_reader_gives_spans_values_and_units():
    found = numerate_finder()("grew 3.2%. It has 5 km", False)
    assert found == [Found(5, 9, (0.032,), None), Found(18, 19, (5.0,), "km")]


def test_quantulum_percentages_and_units_are_mapped():
    pytest.importorskip("quantulum3")
    found = quantulum_finder()("It rose 50% over 5 km.", False)
    assert [(f.values, f.unit) for f in found] == [((0.5,), None), ((5.0,), "km")]
