"""`residues`: which vectors are summed for a number."""

from __future__ import annotations

import math

import pytest
import torch

from numerate.embedders.residue_vectors import ResiduesEmbedder

from .examples import table


def test_one_for_each_remainder() -> None:
    embedder = ResiduesEmbedder.build(dim=6, integer_digits=2, fraction_digits=1)
    assert embedder.moduli == (5, 7, 8, 9)
    features = embedder.features(table([12.34, -0.1, 1e9, math.nan, -math.inf]))
    starts, highest = (0, 5, 12, 20), 999

    def places(units: int) -> list[int]:
        return [start + units % modulus for start, modulus in zip(starts, embedder.moduli, strict=True)]

    shown = [row.nonzero()[:, 0].tolist() for row in features]
    assert shown == [places(123), places(-1), [*places(highest), 29], [30], [*places(-highest), 29]]


def test_vectors_are_sums() -> None:
    embedder = ResiduesEmbedder.build(dim=6, integer_digits=2, fraction_digits=0)
    weights, bias = embedder.project.weight, embedder.project.bias
    torch.testing.assert_close(
        embedder(table([-7.0]))[0], weights[:, 3] + weights[:, 5 + 0] + weights[:, 12 + 1] + bias
    )


def test_too_many_digits() -> None:
    with pytest.raises(ValueError, match="integer_digits=10, fraction_digits=6"):
        ResiduesEmbedder.build(dim=6, integer_digits=10, fraction_digits=6)
