"""Maps of attention and of states: which cells and points they show."""

from __future__ import annotations

import pytest
import torch

from numerate.report.figure_style import rendered
from numerate.report.inner_maps import attention_map, on_a_plane, state_maps


def test_attention_map_keeps_the_most_attended_words() -> None:
    weights = torch.tensor([[0.1, 0.5, 0.0, 0.4], [0.2, 0.3, 0.1, 0.4]])
    figure = attention_map(weights, ["a", "b"], ["w", "x", "y", "z"], "Title", most=2)
    shown = figure.axes[0].images[0].get_array()
    assert torch.tensor(shown.tolist()).allclose(weights[:, [1, 3]])
    with pytest.raises(ValueError, match=r"weights must be \(1, 4\) and not empty, got \(2, 4\)"):
        attention_map(weights, ["a"], ["w", "x", "y", "z"])


def test_planes_keep_distances_of_flat_states() -> None:
    generator = torch.Generator().manual_seed(0)
    flat = torch.randn(9, 2, generator=generator).double() @ torch.randn(2, 30, generator=generator).double()
    points = on_a_plane(flat + 7.0)
    assert torch.allclose(torch.cdist(points, points), torch.cdist(flat, flat), atol=1e-9)
    assert torch.allclose(on_a_plane(-flat), on_a_plane(flat * -1.0)) and on_a_plane(flat[:1]).tolist() == [[0.0, 0.0]]
    clusters = torch.cat([torch.randn(8, 5, generator=generator), torch.randn(8, 5, generator=generator) + 40.0])
    drawn = on_a_plane(clusters, "tsne")
    gaps = torch.cdist(drawn, drawn)
    assert gaps[:8, :8].max() < gaps[:8, 8:].min()
    with pytest.raises(ValueError, match="method must be one of pca, tsne, got 'umap'"):
        on_a_plane(flat, "umap")


def test_state_maps_have_a_row_for_each_model() -> None:
    states = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    panels = {"before": {"layer 0": states}, "after": {"layer 0": states, "layer 1": 2 * states}}
    labels, numbers = {name: ["5", "km", "7\x00"] for name in panels}, {name: [True, False, True] for name in panels}
    figure = state_maps(panels, labels, numbers, "Before and after")
    assert [axes.get_visible() for axes in figure.axes] == [True, False, True, True]
    assert rendered(figure) == rendered(figure) and b"after, layer 1" in rendered(figure)
    with pytest.raises(ValueError, match="at least one model"):
        state_maps({}, {}, {})
