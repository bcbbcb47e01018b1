from __future__ import annotations

import torch

from numerate.embedders.ieee_bits import BitsEmbedder
from numerate.embedders.lookup import NumEmbedder
from numerate.embedders.values import ScaledValueEmbedder
from numerate_lab.tasks.embedder_properties import markdown, measure


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
