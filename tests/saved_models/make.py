"""Writes the saved models of this folder: one tiny model for each recipe, and the outputs it gave when it was saved.

Run once, on the version whose files must stay loadable: `python tests/saved_models/make.py FOLDER`. Backbone and
tokenizer are stored once and shared, so that the folder stays below 1 MB.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent.parent))

import tiny_models

import numerate

SMALL = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 48,
}
TEXTS = ["The tower is 324 metres tall and weighs 10,100 tons.", "Revenue rose 3.2% to [NUM] in 1999."]
VARIANTS = {
    "in-place-ratios": (
        "in-place",
        {"reach": 1, "late_reach": 2, "relations": 1, "head": {"kind": "mixture", "ratios": True}},
    ),
    "rescaled": (None, {"embedder": {"kind": "levelled", "members": [{"kind": "periodic"}]}, "head": "scalar"}),
}
"""Parts that no recipe has."""
SMALLER = {
    "luna": {"embedder": {"kind": "char-lstm", "hidden": 8, "layers": 1}},
    "luna-replace": {"embedder": {"kind": "char-lstm", "hidden": 8, "layers": 1}},
    "float": {"embedder": {"kind": "float"}},
    "fp15": {"notation": {"kind": "fp15", "lowest": -1, "highest": 0}},
}
"""Recipes whose weights would be too large for this folder get fewer of them."""


def main(folder: Path) -> None:
    backbone = tiny_models.new_backbone("bert", **SMALL)
    tokenizer = tiny_models.tokenizer_of("bert")
    backbone.save_pretrained(folder / "backbone")
    tokenizer.save_pretrained(folder / "backbone")
    recipes = {name: (name, {}) for name in numerate.recipe_names()}
    for name, (recipe, options) in (recipes | VARIANTS).items():
        torch.manual_seed(0)
        model = numerate.attach(backbone, tokenizer, recipe, **SMALLER.get(name, {}) | options).eval()
        with torch.no_grad():
            for key, weight in model.named_parameters():
                if not key.startswith("backbone."):
                    weight.add_(0.1 * torch.randn_like(weight))
            output = model(**model.processor(TEXTS, padding=True, return_tensors="pt"), return_loss=False)
        model.save_pretrained(folder / name)
        (folder / name / "README.md").unlink()
        # One column in 37, from the first on and from the last on: the backbone's tokens and ours.
        found = {"logits": torch.cat([output.logits[..., ::37], output.logits[..., -1:]], dim=-1).contiguous()}
        if output.numbers is not None:
            found["median"] = output.numbers.median().contiguous()
        save_file(found, folder / name / "outputs.safetensors")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shutil.rmtree(target / "backbone", ignore_errors=True)
    main(target)
