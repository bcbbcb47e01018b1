"""The recipes that ship with the package, and their table in the docs."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest
import torch
from tiny_models import backbone_of, new_backbone, tokenizer_of

import numerate
from numerate.registry import UnknownNameError

PAGE = Path(__file__).parents[2] / "docs" / "attach.md"
DESIGN = {
    "subwords": ("luna", "keep", None, None),
    "none": ("luna", "drop", None, None),
    "num": ("luna", "marker", "replace num", None),
    "value": ("luna", "marker", "replace value", None),
    "log-value": ("luna", "marker", "replace log-value", None),
    "exponent": ("luna", "marker", "replace exponent", None),
    "float": ("luna", "marker", "replace float", None),
    "luna": ("luna", "addback", "add char-lstm", "log-sign"),
    "luna-replace": ("luna", "marker", "add char-lstm", "log-sign"),
    "xval": ("luna", "marker", "scale scaled-value", "scalar"),
    "p10": ("luna", "p10", None, None),
    "p1000": ("luna", "p1000", None, None),
    "b1999": ("luna", "b1999", None, None),
    "fp15": ("luna", "fp15", None, None),
    "numbert": ("luna", "scientific", None, None),
    "digits": ("luna", "digits", None, None),
    "numerals-2018": ("plain", "marker", "replace gated-chars", "mog"),
    "fone": ("standard", "marker", "add fourier", "fourier-digits"),
    "bittokens": ("standard", "marker", "replace bits", "bits"),
    "bittokens-added": ("standard", "marker", "add bits", "bits"),
    "value-prefix": ("standard", "prefix", "replace value", None),
    "in-place": ("standard", "keep", "add log-fourier", "mixture"),
}
"""The recipes of the design; a new one is added here, too."""


def recipe_table() -> str:
    """All recipes as a Markdown table: what docs/attach.md contains."""
    lines = ["| recipe | reader | notation | placement, embedder | head | what it is |", "|---|---|---|---|---|---|"]
    for name in numerate.recipe_names():
        recipe = numerate.load_recipe(name)
        reader = f"{recipe.reader}, {' '.join(recipe.kinds)}" if recipe.kinds else recipe.reader
        notation = recipe.notation["kind"] + (", slots on subwords" if recipe.notation.get("slot") else "")
        placed = f"{recipe.placement}, `{recipe.embedder['kind']}`" if recipe.embedder else "-"
        placed += " behind a shut gate" if recipe.gated else ""
        head = recipe.head["kind"] if recipe.head else "-"
        about = recipe.about.replace("|", "\\|")
        lines.append(f"| `{name}` | {reader} | {notation} | {placed} | {head} | {about} |")
    return "\n".join(lines)


def test_all_recipes_are_listed_here() -> None:
    assert numerate.recipe_names() == sorted(DESIGN)


@pytest.mark.parametrize("name", DESIGN)
def test_a_recipe_is_as_designed(name: str) -> None:
    recipe = numerate.load_recipe(name)
    reader, notation, placed, head = DESIGN[name]
    assert (recipe.reader, recipe.notation["kind"]) == (reader, notation)
    assert (recipe.embedder and f"{recipe.placement} {recipe.embedder['kind']}") == placed
    assert (recipe.head and recipe.head["kind"]) == head
    assert recipe.about.endswith(".") and recipe.citation.endswith(".")
    assert recipe.gated == (name == "in-place")
    assert type(recipe).from_dict(recipe.to_dict()) == recipe
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), name)
    described = model.describe()
    assert described.placement == recipe.placement and described.recipe == name
    assert (described.head or {}).get("kind") == head
    assert (model.processor.kinds or None) == (frozenset(recipe.kinds) if recipe.kinds else None)


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'xval'"):
        numerate.load_recipe("xvall")


def test_the_docs_have_the_table() -> None:
    page = PAGE.read_text("utf-8")
    assert recipe_table() in page, f"docs/attach.md is out of date; its table should be:\n{recipe_table()}"


def test_the_old_name_of_a_recipe_works_and_warns() -> None:
    with pytest.warns(FutureWarning, match="the recipe 'default' is called 'subwords' now"):
        assert numerate.load_recipe("default") == numerate.load_recipe("subwords")
    with pytest.warns(FutureWarning):
        model = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), "default")
    assert model.recipe == "subwords" and "default" not in numerate.recipe_names()


def test_a_saved_config_with_the_old_name_loads_without_a_warning(tmp_path: Path) -> None:
    numerate.attach(backbone_of("bert"), tokenizer_of("bert"), "subwords").save_pretrained(tmp_path)
    file = tmp_path / "number_config.json"
    file.write_text(file.read_text().replace('"recipe": "subwords"', '"recipe": "default"'))
    assert numerate.from_pretrained(tmp_path, backbone_of("bert"), tokenizer_of("bert")).recipe == "subwords"


def test_bittokens_is_as_released() -> None:
    """Bits of x and 1/x are the number's whole vector, and its loss weighs 10; `bittokens-added` is our variant."""
    sizes = {"hidden_size": 160, "num_hidden_layers": 1, "intermediate_size": 8}
    model = numerate.attach(new_backbone("bert", **sizes), tokenizer_of("bert"), "bittokens").eval()
    assert model.head.config.weight == 10.0 and not list(model.embedder.parameters())
    seen: list[torch.Tensor] = []
    hook = model.backbone.register_forward_pre_hook(
        lambda _, __, given: seen.append(given["inputs_embeds"]), with_kwargs=True
    )
    with torch.no_grad():
        batch = model.processor(["It is -12.5 now."], return_tensors="pt")
        model(**batch, return_loss=False)
    hook.remove()
    pattern = "".join(f"{byte:08b}" for value in (-12.5, 1 / -12.5) for byte in struct.pack(">d", value))
    expected = [math.sqrt(160 / 128) * (2 * int(bit) - 1) for bit in pattern] + [0.0] * 32
    assert seen[0][batch["number_slots"] == 1][0].tolist() == pytest.approx(expected, rel=1e-6)
    ours = numerate.load_recipe("bittokens-added")
    assert ours.embedder == {"kind": "bits"} and ours.head == {"kind": "bits"}
