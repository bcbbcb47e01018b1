"""`attach` on every architecture and with every recipe: text without numbers is unchanged, and so is the backbone."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import KINDS, MASKED, NUMBERS, PLAIN, backbone_of, bare_batch, number_batch, task_labels, tokenizer_of

import numerate
from numerate.modeling.artefact import ArtefactError
from numerate.modeling.recipe import load_recipe
from numerate.registry import embedders, heads

if TYPE_CHECKING:
    from pathlib import Path

# Every recipe on three architectures, every architecture with at least four recipes.
PAIRS = [
    (list(KINDS)[(index + step) % len(KINDS)], recipe)
    for index, recipe in enumerate(numerate.recipe_names())
    for step in (0, 4, 9)
]


def assert_same_outputs(bare: Any, ours: Any) -> None:
    tensors = {key: value for key, value in bare.items() if isinstance(value, torch.Tensor) and key != "loss"}
    assert tensors
    for key, value in tensors.items():
        own = getattr(ours, key)
        assert torch.equal(own[..., : value.shape[-1]] if key == "logits" else own, value), key


def assert_unchanged_by(model: Any, name: str, texts: list[str]) -> None:
    """The attached model gives the bare backbone's outputs, whichever side is padded."""
    for side in ("right", "left"):
        bare, ours = bare_batch(name, texts, side), number_batch(model, name, texts, side)
        if name == "t5":
            bare["labels"] = ours["labels"]
        if side == "left" and model.info.takes_positions and name != "t5":  # as Hugging Face's generate passes them
            bare["position_ids"] = (bare["attention_mask"].cumsum(1) - 1).clamp_min(0)
        assert (bare["attention_mask"] == 0).any(), "the texts must be of different lengths"
        with torch.no_grad():
            assert_same_outputs(model.backbone(**bare), model(**ours))


def test_the_pairs_cover_all() -> None:
    assert {name for name, _ in PAIRS} == set(KINDS) and len(set(PAIRS)) == len(PAIRS)


@pytest.mark.parametrize(("name", "recipe"), PAIRS)
def test_recipe_on_architecture(name: str, recipe: str) -> None:
    """Text without numbers is unchanged; numbers give finite gradients; `detach` restores the backbone."""
    backbone = backbone_of(name)
    before = copy.deepcopy(backbone.state_dict())
    torch.manual_seed(0)
    objective: Any = {"kind": "masked", "number_ratio": 0.5} if name in MASKED else "auto"
    model = numerate.attach(backbone, tokenizer_of(name), recipe, objective=objective).eval()
    assert_unchanged_by(model, name, PLAIN)
    assert_gradients(model.train(), name, load_recipe(recipe))
    assert numerate.detach(model.eval()) is backbone
    after = backbone.state_dict()
    assert after.keys() == before.keys() and all(torch.equal(after[key], value) for key, value in before.items())
    assert not backbone.get_input_embeddings()._forward_hooks


def assert_gradients(model: Any, name: str, plan: numerate.Recipe) -> None:
    batch = number_batch(model, name, NUMBERS)
    output = model(**batch, **task_labels(name, batch))
    loss = output.last_hidden_state.square().mean() if name == "encoder" else output.loss
    assert loss.isfinite()
    loss.backward()
    learns_numbers = model.info.is_language_model
    for key, weight in model.named_parameters():
        if key.startswith("head.") and not learns_numbers:
            continue
        if weight.grad is not None:
            assert weight.grad.isfinite().all(), key
        elif not key.startswith("backbone."):
            raise AssertionError(f"{key} got no gradient")
    parts = {"embedder": plan.embedder and not plan.gated, "gate": plan.gated, "head": plan.head and learns_numbers}
    for part in [part for part, wanted in parts.items() if wanted]:
        gradients = [weight.grad for weight in getattr(model, part).parameters()]
        assert not gradients or any(g is not None and g.abs().sum() > 0 for g in gradients), part
    if model.own_logits is not None:
        assert model.own_logits.bias.grad.abs().sum() > 0
    model.zero_grad(set_to_none=True)


@pytest.mark.parametrize("name", KINDS)
def test_in_place_changes_nothing_before_training(name: str) -> None:
    model = numerate.attach(backbone_of(name), tokenizer_of(name)).eval()
    assert model.recipe == "in-place"
    assert number_batch(model, name, NUMBERS)["number_slots"].any()
    assert_unchanged_by(model, name, NUMBERS)


@torch.no_grad()
def test_an_open_gate_changes_the_logits() -> None:
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert")).eval()
    batch = number_batch(model, "bert", NUMBERS)
    before = model(**batch).logits
    model.gate.gate.fill_(1.0)
    assert not torch.allclose(model(**batch).logits, before)


def test_freeze_trains_only_our_weights_and_detach_undoes_it(capsys: pytest.CaptureFixture[str]) -> None:
    backbone = backbone_of("gpt2")
    model = numerate.attach(backbone, tokenizer_of("gpt2"), "luna", freeze=True)
    assert not any(weight.requires_grad for weight in backbone.parameters())
    trained, total = model.trainable_parameters()
    ours = sum(weight.numel() for key, weight in model.named_parameters() if not key.startswith("backbone."))
    assert 0 < trained == ours < total
    model(**number_batch(model, "gpt2", NUMBERS)).loss.backward()
    assert all(weight.grad is None for weight in backbone.parameters())
    model.print_trainable_parameters()
    assert capsys.readouterr().out.startswith("trainable params: ")
    assert all(weight.requires_grad for weight in numerate.detach(model).parameters())


def test_parts_by_name_description_or_object() -> None:
    backbone, tokenizer = backbone_of("bert"), tokenizer_of("bert")
    by_name = numerate.attach(backbone, tokenizer, notation="marker", embedder="value", head="scalar")
    described = numerate.attach(backbone, tokenizer, "value", embedder={"kind": "value", "hidden": 7})
    itself = numerate.attach(backbone, tokenizer, "value", embedder=by_name.embedder)
    assert by_name.recipe is None and by_name.head is not None
    assert described.embedder.config.hidden == 7
    assert itself.embedder is by_name.embedder
    changed = dataclasses.replace(load_recipe("value"), kinds=("money",))
    model = numerate.attach(backbone, tokenizer, changed)
    assert model.recipe is None and model.processor.kinds == {"money"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"recipe": "lunar"}, KeyError, "did you mean 'luna'"),
        ({"embedder": "flaot"}, KeyError, "did you mean 'float'"),
        ({"embeder": "float"}, TypeError, "attach: unknown option 'embeder': did you mean 'embedder'"),
        ({"embedder": {"hidden": 3}}, ValueError, "needs a 'kind'"),
        ({"recipe": "value", "placement": "scale"}, ValueError, "needs an embedder of width 1"),
        ({"recipe": "value", "placement": "beside"}, ValueError, "placement must be one of"),
        ({"embedder": "scaled-value"}, ValueError, "placement='scale'"),
        ({"objective": "nothing"}, KeyError, "unknown objective"),
        ({"freez": True}, TypeError, "attach: unknown option 'freez': did you mean 'freeze'"),
        ({"recip": "luna"}, TypeError, "attach: unknown option 'recip': did you mean 'recipe'"),
        ({"fits": []}, TypeError, "attach: unknown option 'fits': did you mean 'fit'"),
        ({"recipe": 5}, TypeError, "recipe must be a name or a Recipe, got 5"),
        ({"reach": "2"}, ValueError, "reach must be a whole number, got '2'"),
        ({"relations": -1}, ValueError, "relations must be at least 0, got -1"),
        ({"gated": "no"}, ValueError, "gated must be True or False, got 'no'"),
        ({"freeze": "no"}, TypeError, "freeze must be True or False, got 'no'"),
        ({"fit": 5}, TypeError, "fit must be an iterable of texts or numbers, got 5"),
        ({"head": heads["mixture"]}, TypeError, "head is the class MixtureHead: give an object of it, or its name"),
        ({"head": 5}, TypeError, "head must be a name, a dict with its 'kind' or an object, got 5"),
        ({"head": heads["mixture"].build(dim=7)}, ValueError, "MixtureHead was built with dim=7: .* needs dim=32"),
        ({"embedder": embedders["float"].build(dim=7)}, ValueError, "built with dim=7: this backbone needs dim=32"),
        ({"kinds": "money"}, TypeError, r"kinds must be a list of kinds, got 'money': as in kinds=\['money'\]"),
        ({"scaling": "range"}, TypeError, "scaling must be a fitted numerate.Scaling, got 'range'"),
        ({"objective": "causal"}, ValueError, "objective 'causal' on a model that sees the tokens after a token"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        numerate.attach(backbone_of("bert"), tokenizer_of("bert"), **options)


def test_bad_backbones_are_refused() -> None:
    import transformers as hf

    with pytest.raises(TypeError, match="must be a Hugging Face model"):
        numerate.attach(torch.nn.Linear(2, 2), tokenizer_of("bert"))
    with pytest.raises(ValueError, match="needs 'labelled' or None"):
        numerate.attach(backbone_of("t5"), tokenizer_of("t5"), objective="masked")
    with pytest.raises(TypeError, match="sequence-classification are not supported"):
        numerate.attach(hf.T5ForSequenceClassification(backbone_of("t5").config), tokenizer_of("t5"))


def test_records_with_implied_commas_are_saved(tmp_path: Path) -> None:
    name = "bert"
    model = numerate.attach(backbone_of(name), tokenizer_of(name), "xval", reader="records", implied_commas=True)
    record = "{'data': [[1.5, 2, 3], [4, 5, 6]]}"
    batch = model.processor([record])
    assert sum(slot > 0 for slot in batch["number_slots"][0]) == 6
    longer = numerate.attach(backbone_of(name), tokenizer_of(name), "xval", reader="records").processor([record])
    assert len(batch["input_ids"][0]) == len(longer["input_ids"][0]) - 4, "four commas between numbers are implied"
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, backbone=backbone_of(name), tokenizer=tokenizer_of(name))
    assert again.processor.implied_commas and again.processor([record])["input_ids"] == batch["input_ids"]


def test_the_same_backbone_can_be_attached_twice() -> None:
    backbone = backbone_of("bert")
    for model in [numerate.attach(backbone, tokenizer_of("bert"), recipe).eval() for recipe in ("xval", "luna")]:
        assert_unchanged_by(model, "bert", PLAIN)


@pytest.mark.parametrize("name", ["classifier", "tagger", "answerer", "gpt2-classifier"])
def test_models_of_labels_have_no_number_head_unless_asked(name: str) -> None:
    """Nothing would train it; ratios between numbers are on by default."""
    backbone, tokenizer = backbone_of(name), tokenizer_of(name)
    model = numerate.attach(backbone, tokenizer)
    assert model.head is None and model.relations is not None and model.recipe == "in-place"
    with pytest.raises(ValueError, match="head='mixture', or head='recipe' if its recipe has one"):
        model.predict("It is [NUM] metres tall.")
    asked = numerate.attach(backbone, tokenizer, head="recipe")
    assert asked.head is not None and asked.head.config.to_dict() == {
        **load_recipe("in-place").head,
        **asked.head.config.to_dict(),
    }
    assert numerate.attach(backbone, tokenizer, head="scalar").head.config.kind == "scalar"


@pytest.mark.parametrize("name", ["bert", "gpt2", "encoder"])
def test_head_none_means_no_head(name: str) -> None:
    backbone, tokenizer = backbone_of(name), tokenizer_of(name)
    assert numerate.attach(backbone, tokenizer).head is not None
    assert numerate.attach(backbone, tokenizer, head="recipe").recipe == "in-place"
    bare = numerate.attach(backbone, tokenizer, head=None)
    assert bare.head is None and bare.recipe is None and bare.embedder is not None
    assert numerate.attach(backbone, tokenizer, "value", head="recipe").head is None, "the recipe has none"


def test_arguments_of_other_kinds_are_refused() -> None:
    backbone, tokenizer = backbone_of("bert"), tokenizer_of("bert")
    model = numerate.attach(backbone, tokenizer, "luna")
    refused: list[tuple[Any, Any, str]] = [
        (model, tokenizer, r"the backbone is a NumberModel already: use it as it is, or numerate\.detach it first"),
        ("a/b", tokenizer, r"backbone must be a Hugging Face model, got 'a/b': load it with AutoModel.*'a/b'\)"),
        (None, tokenizer, "backbone must be a Hugging Face model, got None"),
        (
            backbone,
            "folder",
            r"tokenizer must be a fast tokenizer, got 'folder': .* AutoTokenizer\.from_pretrained\('fol",
        ),
        (backbone, None, "tokenizer must be a fast tokenizer, got None: load it with AutoTokenizer"),
        (
            backbone,
            model.processor,
            r"tokenizer must be a fast tokenizer, got NumberProcessor.*: pass processor\.token",
        ),
    ]
    for one, other, said in refused:
        with pytest.raises(TypeError, match=said):
            numerate.attach(one, other)
    for given in (backbone, None):
        with pytest.raises(TypeError, match=r"detach takes the NumberModel that attach returned, got (BertFor|None)"):
            numerate.detach(given)  # type: ignore[arg-type]


def test_texts_of_other_kinds_are_refused() -> None:
    model = numerate.attach(backbone_of("gpt2"), tokenizer_of("gpt2"), "luna")
    given: list[tuple[Any, str]] = [
        (None, "None"), (5, "5"), ([None], "None"), (["[NUM]", 5], "5"), (b"[NUM]", r"b'\[NUM\]'"),
        ({"a": 1}, "{'a': 1}"),
    ]  # fmt: skip
    for texts, said in given:
        with pytest.raises(TypeError, match=f"predict takes a text or a list of texts, got {said}"):
            model.predict(texts)
        if texts is not None:  # generate says then that nothing is given
            with pytest.raises(TypeError, match=f"generate takes a text or a list of texts, got {said}"):
                model.generate(texts)
    with pytest.raises(ValueError, match=r"target is what an encoder-decoder answers, got 'It is \[NUM\]"):
        model.predict("How tall is it? [NUM]", "It is [NUM].")
    with pytest.raises(TypeError, match="a recipe's name must be a text, got 5"):
        numerate.load_recipe(5)  # type: ignore[arg-type]


def test_a_folder_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("missing", "out/missing"):
        with pytest.raises(ArtefactError, match=f"there is no folder '{name}', and no such model .* on the Hub: "):
            numerate.from_pretrained(name)
    for given in (None, 5, numerate.attach(backbone_of("bert"), tokenizer_of("bert"))):
        with pytest.raises(
            ArtefactError, match=r"from_pretrained takes a folder or a Hub id, got (None|5|NumberModel)"
        ):
            numerate.from_pretrained(given)  # type: ignore[arg-type]
