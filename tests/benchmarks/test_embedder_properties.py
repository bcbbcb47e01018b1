"""Measures of embedders whose properties are known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import torch
from embedder_properties import main, markdown, measure

from numerate.embedders.ieee_bits import BitsEmbedder
from numerate.embedders.lookup import NumEmbedder
from numerate.embedders.values import ScaledValueEmbedder

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_measures_of_the_extremes() -> None:
    torch.manual_seed(0)
    num, bits, scaled = (measure(kind.build(64)) for kind in (NumEmbedder, BitsEmbedder, ScaledValueEmbedder))
    assert num.unique == num.structure == num.decades == num.jump == num.sum_r2 == 0
    assert 2.2 < num.noise_error < 2.3
    assert num.norm_ratio == 1
    assert bits.unique == 1 and bits.decades == 601 and bits.jump > 0.5
    assert scaled.sum_r2 > 0.999 and scaled.product_r2 > 0.999 and scaled.norm_ratio > 1e6
    assert scaled.jump < 0.001
    table = markdown({"num": num, "bits": bits}).splitlines()
    assert len(table) == 4 and len({line.count("|") for line in table}) == 1


def test_the_script_prints_and_writes_chosen_embedders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "properties.json"
    main(["--embedder=num", "--dim=8", f"--json={file}"])
    assert "| `num` | 1 | 0.0% |" in capsys.readouterr().out
    found = json.loads(file.read_text("utf-8"))
    assert found["config"]["dim"] == 8 and found["figures"]["num"]["norm_ratio"] == 1
