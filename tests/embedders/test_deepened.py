"""`deepened`: a member's own vectors, and a network of them."""

from __future__ import annotations

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.deepened import DeepenedEmbedder

from .examples import table


def test_vectors_stand_beside_their_network() -> None:
    torch.manual_seed(0)
    embedder = DeepenedEmbedder.build(dim=90, members=[{"kind": "decades", "map": "pad"}], kept=60, hidden=5)
    numbers = table([1.5, -2000.0])
    own, made = embedder(numbers).split([60, 30], dim=-1)
    torch.testing.assert_close(own, embedder.members[0](numbers))
    first, _, second = embedder.network
    expected = torch.nn.functional.gelu(own @ first.weight.T + first.bias) @ second.weight.T + second.bias
    torch.testing.assert_close(made, expected)


def test_the_member_is_fitted() -> None:
    embedder = DeepenedEmbedder.build(dim=8, members=[{"kind": "ranks"}], kept=2)
    embedder.fit(torch.tensor([0.0, 10.0, 20.0, 40.0, 80.0], dtype=torch.float64))
    assert embedder(table([10.0]))[0, :2].tolist() == [0.0, -1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": [{"kind": "num"}, {"kind": "value"}]}, "members must be one embedder, got 2"),
        ({"kept": 8}, "deepened with 8 kept columns needs more than that, got dim=8"),
        ({"kept": -1}, "kept must not be negative, got -1"),
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DeepenedEmbedder.build(dim=8, **options)
