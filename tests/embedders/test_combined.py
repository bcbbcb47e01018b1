"""Sums and concatenations of embedders."""

from __future__ import annotations

import pytest
import torch

from numerate.config import ConfigError
from numerate.embedders.combined import ConcatEmbedder, SumEmbedder

from .examples import table

MEMBERS = [{"kind": "log-fourier"}, {"kind": "exponent", "n_bins": 10, "fitted": True}, {"kind": "num"}]


def test_sum_adds_the_members() -> None:
    embedder = SumEmbedder.build(8, members=MEMBERS)
    torch.testing.assert_close(embedder(table()), sum(member(table()) for member in embedder.members))


def test_concat_splits_the_columns() -> None:
    embedder = ConcatEmbedder.build(8, members=MEMBERS)
    assert [member.width for member in embedder.members] == [3, 3, 2]
    assert torch.equal(embedder(table())[:, 3:6], embedder.members[1](table()))


def test_concat_accepts_a_member_of_width_one() -> None:
    embedder = ConcatEmbedder.build(8, members=[{"kind": "scaled-value"}, {"kind": "periodic"}], widths=(1, 7))
    assert embedder(table([2.5]))[0, 0].item() == 2.5


def test_fit_reaches_the_members() -> None:
    embedder = SumEmbedder.build(8, members=MEMBERS)
    before = embedder.members[1].edge_bits.clone()
    embedder.fit(torch.arange(1, 100, dtype=torch.float64))
    assert not torch.equal(before, embedder.members[1].edge_bits)


def test_claims_follow_from_the_members() -> None:
    both = SumEmbedder.build(8, members=[{"kind": "log-fourier"}, {"kind": "num"}])
    assert both.continuous and both.through_zero and both.signed
    assert not SumEmbedder.build(8, members=[{"kind": "log-fourier"}, {"kind": "float"}]).continuous


def test_nesting_and_aliases() -> None:
    inner = {"kind": "concat", "members": [{"kind": "num"}, {"kind": "exp"}]}
    assert SumEmbedder.build(8, members=[inner, {"kind": "ple"}])(table()).shape == (10, 8)


def nested(depth: int) -> list[dict[str, object]]:
    return [{"kind": "sum", "members": nested(depth - 1)}] if depth else [{"kind": "num"}]


def test_invalid_members_are_quoted() -> None:
    for members, message in (
        ([], "at least one"),
        ([{}], "with a kind"),
        ([{"kind": "flot"}], "unknown kind 'flot'"),
        ([{"kind": "float", "bitz": 3}], "unknown key 'bitz'"),
        ([{"kind": ["num"]}], "with a kind"),
        ([{"kind": "scaled-value"}], "'scaled-value' gives 1 columns where 8"),
        (nested(200), "nested 4 deep"),
    ):
        with pytest.raises(ConfigError, match=message):
            SumEmbedder.build(8, members=members)


def test_invalid_widths_are_quoted() -> None:
    with pytest.raises(ConfigError, match=r"each of 3 members, got \(1,\)"):
        ConcatEmbedder.build(8, members=MEMBERS, widths=(1,))
    with pytest.raises(ConfigError, match=r"widths=\(1, 2, 3\), dim=8"):
        ConcatEmbedder.build(8, members=MEMBERS, widths=(1, 2, 3))
