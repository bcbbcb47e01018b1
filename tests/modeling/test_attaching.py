"""Every recipe on every architecture: text without numbers is untouched, and so is the backbone."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from tiny_models import KINDS, MASKED, NUMBERS, PLAIN, backbone_of, bare_batch, number_batch, task_labels, tokenizer_of

import numerate
from numerate.modeling.attaching import load_recipe

if TYPE_CHECKING:
    from pathlib import Path


class Attached(NamedTuple):
    """A recipe on a backbone, with what the backbone was before."""

    name: str
    recipe: str
    model: Any
    backbone: Any
    before: dict[str, torch.Tensor]


PAIRS = [(name, recipe) for name in KINDS for recipe in numerate.recipe_names()]


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def attached(request: pytest.FixtureRequest) -> Attached:
    name, recipe = request.param
    backbone = backbone_of(name)
    before = copy.deepcopy(backbone.state_dict())
    torch.manual_seed(0)
    objective: Any = {"kind": "masked", "number_ratio": 0.5} if name in MASKED else "auto"
    model = numerate.attach(backbone, tokenizer_of(name), recipe, objective=objective).eval()
    return Attached(name, recipe, model, backbone, before)


def assert_same_outputs(bare: Any, ours: Any) -> int:
    tensors = {key: value for key, value in bare.items() if isinstance(value, torch.Tensor) and key != "loss"}
    assert tensors
    for key, value in tensors.items():
        own = getattr(ours, key)
        assert torch.equal(own[..., : value.shape[-1]] if key == "logits" else own, value), key
    return len(tensors)


@pytest.mark.parametrize("side", ["right", "left"])
@torch.no_grad()
def test_text_without_numbers_is_untouched(attached: Attached, side: str) -> None:
    bare = bare_batch(attached.name, PLAIN, side)
    ours = number_batch(attached.model, attached.name, PLAIN, side)
    if attached.name == "t5":
        bare["labels"] = ours["labels"]
    assert (bare["attention_mask"] == 0).any(), "the texts must be of different lengths"
    assert_same_outputs(attached.backbone(**bare), attached.model(**ours))


def test_numbers_run_forward_and_backward(attached: Attached) -> None:
    name, recipe, model = attached.name, attached.recipe, attached.model
    torch.manual_seed(0)
    model.train()
    batch = number_batch(model, name, NUMBERS)
    output = model(**batch, **task_labels(name, batch))
    loss = output.last_hidden_state.square().mean() if name == "encoder" else output.loss
    assert loss.isfinite()
    model.zero_grad(set_to_none=True)
    loss.backward()
    learns_numbers = model.info.is_language_model
    for key, weight in model.named_parameters():
        if key.startswith("head.") and not learns_numbers:
            continue
        if weight.grad is not None:
            assert weight.grad.isfinite().all(), key
        elif not key.startswith("backbone."):
            raise AssertionError(f"{key} got no gradient")
    plan = load_recipe(recipe)
    parts = {"embedder": plan.embedder and not plan.gated, "gate": plan.gated, "head": plan.head and learns_numbers}
    for part in [part for part, wanted in parts.items() if wanted]:
        gradients = [weight.grad for weight in getattr(model, part).parameters()]
        assert not gradients or any(g is not None and g.abs().sum() > 0 for g in gradients), part
    if model.own_logits is not None:
        assert model.own_logits.bias.grad.abs().sum() > 0
    model.eval().zero_grad(set_to_none=True)


def test_detached_backbone_is_bit_identical(attached: Attached) -> None:
    # The tests above have run forwards and backwards; no optimiser has stepped.
    assert numerate.detach(attached.model) is attached.backbone
    after = attached.backbone.state_dict()
    assert after.keys() == attached.before.keys()
    assert all(torch.equal(after[key], value) for key, value in attached.before.items())
    assert not attached.backbone.get_input_embeddings()._forward_hooks


@pytest.mark.parametrize("name", KINDS)
@torch.no_grad()
def test_in_place_changes_nothing_even_with_numbers(name: str) -> None:
    model = numerate.attach(backbone_of(name), tokenizer_of(name)).eval()
    assert model.recipe == "in-place"
    for side in ("right", "left"):
        bare, ours = bare_batch(name, NUMBERS, side), number_batch(model, name, NUMBERS, side)
        if name == "t5":
            bare["labels"] = ours["labels"]
        assert ours["number_slots"].any()
        assert_same_outputs(backbone_of(name)(**bare), model(**ours))


@torch.no_grad()
def test_an_open_gate_changes_something() -> None:
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert")).eval()
    batch = number_batch(model, "bert", NUMBERS)
    before = model(**batch).logits
    model.gate.gate.fill_(1.0)
    assert not torch.equal(model(**batch).logits, before)


def test_freeze_trains_only_what_is_ours_and_detach_undoes_it() -> None:
    backbone = backbone_of("gpt2")
    model = numerate.attach(backbone, tokenizer_of("gpt2"), "luna", freeze=True)
    assert not any(weight.requires_grad for weight in backbone.parameters())
    trained, total = model.trainable_parameters()
    ours = sum(weight.numel() for key, weight in model.named_parameters() if not key.startswith("backbone."))
    assert 0 < trained == ours < total
    model(**number_batch(model, "gpt2", NUMBERS)).loss.backward()
    assert all(weight.grad is None for weight in backbone.parameters())
    assert all(weight.requires_grad for weight in numerate.detach(model).parameters())


def test_print_trainable_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    numerate.attach(backbone_of("bert"), tokenizer_of("bert"), freeze=True).print_trainable_parameters()
    assert capsys.readouterr().out.startswith("trainable params: ")


def test_parts_by_name_description_or_object() -> None:
    backbone, tokenizer = backbone_of("bert"), tokenizer_of("bert")
    by_name = numerate.attach(backbone, tokenizer, notation="marker", embedder="value", head="scalar")
    described = numerate.attach(backbone, tokenizer, "value", embedder={"kind": "value", "hidden": 7})
    itself = numerate.attach(backbone, tokenizer, "value", embedder=by_name.embedder)
    assert by_name.recipe is None and by_name.head is not None
    assert described.embedder.config.hidden == 7
    assert itself.embedder is by_name.embedder


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"recipe": "lunar"}, KeyError, "did you mean 'luna'"),
        ({"embedder": "flaot"}, KeyError, "did you mean 'float'"),
        ({"embedder": {"hidden": 3}}, ValueError, "needs a 'kind'"),
        ({"recipe": "value", "placement": "scale"}, ValueError, "needs an embedder of width 1"),
        ({"recipe": "value", "placement": "beside"}, ValueError, "placement must be one of"),
        ({"embedder": "scaled-value"}, ValueError, "placement='scale'"),
        ({"objective": "nothing"}, KeyError, "unknown objective"),
    ],
)
def test_mistakes_are_told(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        numerate.attach(backbone_of("bert"), tokenizer_of("bert"), **options)


def test_what_is_no_backbone_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a Hugging Face model"):
        numerate.attach(torch.nn.Linear(2, 2), tokenizer_of("bert"))
    with pytest.raises(ValueError, match="needs 'labelled' or None"):
        numerate.attach(backbone_of("t5"), tokenizer_of("t5"), objective="masked")


def test_the_module_answers_as_the_function() -> None:
    # Python binds numerate.attach to the module once anything is imported from it.
    import importlib

    module = importlib.import_module("numerate.modeling.attaching")
    model = module(backbone_of("bert"), tokenizer_of("bert"), "num")
    assert model.recipe == "num"


def test_records_with_implied_commas_survive_saving(tmp_path: Path) -> None:
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
