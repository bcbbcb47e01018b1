"""Vectors of the size that was asked for."""

import dataclasses

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.rescaled import LevelledEmbedder
from numerate.processing.number_table import NumberTable
from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial

VALUES = torch.logspace(-2, 6, 300, dtype=torch.float64)


@pytest.mark.parametrize(
    "kind", ["fourier", "log-fourier", "bits", "float", "periodic", "char-lstm", "exponent", "time2vec"]
)
def test_what_tells_numbers_apart_gets_the_size(kind: str) -> None:
    torch.manual_seed(0)
    embedder = LevelledEmbedder.build(32, members=[{"kind": kind}], size=3.0)
    table = NumberTable.of_values(VALUES.tolist())
    before = embedder(table).detach()
    torch.testing.assert_close(before, embedder.members[0](table))
    embedder.fit(VALUES)
    vectors = embedder(table)
    torch.testing.assert_close(vectors.mean(0), torch.zeros(32), atol=1e-3, rtol=0)
    assert vectors.square().mean().sqrt().item() == pytest.approx(3.0, rel=1e-3)
    # Nothing but moved and stretched: what was nearer still is.
    apart, were = (_distances(one) for one in (vectors, before))
    torch.testing.assert_close(apart / apart.max(), were / were.max(), atol=1e-3, rtol=1e-3)


def _distances(vectors: torch.Tensor) -> torch.Tensor:
    return torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")


def test_an_embedder_that_knows_no_numbers_apart_stays() -> None:
    embedder = LevelledEmbedder.build(8, members=[{"kind": "num"}])
    embedder.fit(VALUES)
    embedder.fit(VALUES[:0])
    assert embedder.gain.item() == 1 and not embedder.shift.any()


def test_what_was_fitted_is_saved() -> None:
    first, second = (LevelledEmbedder.build(8, members=[{"kind": "bits"}]) for _ in range(2))
    first.fit(VALUES)
    second.load_state_dict(first.state_dict())
    table = NumberTable.of_values([1.5, -2.0])
    torch.testing.assert_close(first(table), second(table), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"members": []}, "at least one embedder"),
        ({"members": [{"kind": "bits"}, {"kind": "num"}]}, "members must be one embedder, got 2"),
        ({"size": 0.0}, "size must be positive, got 0.0"),
    ],
)
def test_bad_options(options: dict[str, object], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        LevelledEmbedder.build(8, **options)


@pytest.mark.parametrize(("encoding", "levelled"), [("fourier", True), ("xval", False), ("p10", False)])
def test_cells_bring_numbers_to_the_size_of_words(encoding: str, levelled: bool) -> None:
    config = AskedNumberTrial(task="add-6", encoding=encoding, examples=300, width=32, layers=1, heads=2)
    model = AskedNumber(config).build()
    assert isinstance(model.embedder, LevelledEmbedder) == levelled
    assert model.own_rows.square().mean().sqrt().item() == pytest.approx(1.0, rel=0.3)
    as_it_comes = AskedNumber(dataclasses.replace(config, embedding_scale=0.0)).build()
    assert not isinstance(as_it_comes.embedder, LevelledEmbedder)
    assert as_it_comes.own_rows.square().mean().sqrt().item() < 0.3
    if isinstance(model.embedder, LevelledEmbedder):
        batch = model.processor(AskedNumber(config).examples("train")[0], padding=True, return_tensors="pt")
        values = batch["number_bits"].view(torch.float64)[batch["number_given"] == 1]
        embedder: LevelledEmbedder = model.embedder
        size = embedder(NumberTable.of_values(values.tolist())).square().mean().sqrt()
        words = model.backbone.get_input_embeddings().weight.square().mean().sqrt()
        assert (size / words).item() == pytest.approx(2.0, rel=0.05)
