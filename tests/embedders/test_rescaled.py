"""Rescaled embedders: centred vectors of a given size, and old saved configs."""

from __future__ import annotations

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.rescaled import RescaledConfig, RescaledEmbedder
from numerate.processing.number_table import NumberTable
from numerate.registry import embedders

VALUES = torch.logspace(-2, 6, 300, dtype=torch.float64)


@pytest.mark.parametrize("kind", ["fourier", "log-fourier", "float", "periodic", "char-lstm", "exponent", "time2vec"])
def test_fit_centres_and_scales_the_vectors(kind: str) -> None:
    torch.manual_seed(0)
    small = {"size": "0.1M"} if kind == "char-lstm" else {}
    embedder = RescaledEmbedder.build(32, members=[{"kind": kind, **small}], size=3.0)
    table = NumberTable.of_values(VALUES.tolist())
    before = embedder(table).detach()
    torch.testing.assert_close(before, embedder.members[0](table))
    embedder.fit(VALUES)
    vectors = embedder(table)
    torch.testing.assert_close(vectors.mean(0), torch.zeros(32), atol=1e-3, rtol=0)
    assert vectors.square().mean().sqrt().item() == pytest.approx(3.0, rel=1e-3)
    # Ratios of distances do not change under a shift and a scale.
    after, original = (torch.cdist(one, one, compute_mode="donot_use_mm_for_euclid_dist") for one in (vectors, before))
    torch.testing.assert_close(after / after.max(), original / original.max(), atol=1e-3, rtol=1e-3)


def test_a_constant_embedder_is_not_changed() -> None:
    embedder = RescaledEmbedder.build(8, members=[{"kind": "num"}])
    embedder.fit(VALUES)
    embedder.fit(VALUES[:0])
    assert embedder.gain.item() == 1 and not embedder.shift.any()


def test_shift_and_gain_are_saved() -> None:
    first, second = (RescaledEmbedder.build(8, members=[{"kind": "bits"}]) for _ in range(2))
    first.fit(VALUES)
    second.load_state_dict(first.state_dict())
    table = NumberTable.of_values([1.5, -2.0])
    torch.testing.assert_close(first(table), second(table))


def test_old_kind_is_accepted() -> None:
    assert embedders["levelled"] is RescaledEmbedder
    old = {"kind": "levelled", "version": 1, "members": [{"kind": "bits"}], "size": 2.0}
    config = RescaledConfig.from_dict(old)
    assert config == RescaledConfig(members=({"kind": "bits"},), size=2.0)
    assert config.to_dict() == old | {"kind": "rescaled"}
    nested = embedders["sum"].build(8, members=[old])
    assert nested.members[0].config == config


def test_invalid_options_are_quoted() -> None:
    for options, message in (
        ({"members": []}, "at least one embedder"),
        ({"members": [{"kind": "bits"}, {"kind": "num"}]}, "members must be one embedder, got 2"),
        ({"size": 0.0}, "size must be positive, got 0.0"),
    ):
        with pytest.raises(ConfigError, match=message):
            RescaledEmbedder.build(8, **options)
