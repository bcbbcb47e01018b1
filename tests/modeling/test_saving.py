"""Saving and loading, and hostile folders, which are refused."""

from __future__ import annotations

import json
import pickle
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import KINDS, assert_same, backbone_of, new_backbone, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.errors import NumerateError
from numerate.modeling.artefact import CONFIG_FILE, WEIGHTS_FILE, ArtefactError
from numerate.numerals.numeral import Numeral
from numerate.processing.scaling import FieldScaler, Scaling

if TYPE_CHECKING:
    from collections.abc import Callable


def attached(name: str = "bert", recipe: str = "luna", **options: Any) -> Any:
    torch.manual_seed(0)
    return numerate.attach(backbone_of(name), tokenizer_of(name), recipe, **options).eval()


@pytest.mark.parametrize("recipe", numerate.recipe_names())
def test_a_loaded_model_gives_the_same_outputs(recipe: str, tmp_path: Path) -> None:
    model = attached("bert", recipe)
    with torch.no_grad():  # so that initial values cannot pass the test
        for key, weight in model.named_parameters():
            if not key.startswith("backbone."):
                weight.add_(0.1 * torch.randn_like(weight))
    model.save_pretrained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {CONFIG_FILE, WEIGHTS_FILE, "README.md"}
    assert set(load_file(tmp_path / WEIGHTS_FILE)) == set(model.own_state())
    ours = sum(value.numel() * value.element_size() for value in model.own_state().values())
    assert (tmp_path / WEIGHTS_FILE).stat().st_size < ours + 20_000
    again = numerate.from_pretrained(tmp_path, backbone_of("bert"), tokenizer_of("bert"))
    assert (
        again.recipe == recipe
        and again.citation == model.citation
        and model.citation in (tmp_path / "README.md").read_text()
    )
    assert_same(model, again, "bert")
    assert again.describe() == model.describe()


@pytest.mark.parametrize("name", [name for name in KINDS if name != "bert"])
def test_every_architecture_can_be_loaded(name: str, tmp_path: Path) -> None:
    model = attached(name, "in-place")
    model.save_pretrained(tmp_path)
    assert_same(model, numerate.from_pretrained(tmp_path, backbone_of(name), tokenizer_of(name)), name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("bert", "gpt2", "t5", "classifier", "encoder")),
        *(("bert", {"device_map": "cpu"}), ("gpt2", {"dtype": torch.bfloat16}), ("t5", {"dtype": torch.bfloat16})),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value) or "plain",
)
def test_the_base_model_is_found_by_its_path(
    name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers as hf

    base = tmp_path / "base"
    backbone_of(name).save_pretrained(base)
    tokenizer_of(name).save_pretrained(base)
    # Saved with a relative path, it is found from another folder, too.
    monkeypatch.chdir(tmp_path)
    backbone = getattr(hf, KINDS[name][0]).from_pretrained("base", attn_implementation="eager")
    model = numerate.attach(backbone, hf.AutoTokenizer.from_pretrained("base"), "in-place").eval()
    model.save_pretrained("ours")
    monkeypatch.chdir("/")
    assert json.loads((tmp_path / "ours" / CONFIG_FILE).read_text())["base_model"] == str(base.resolve())
    again = numerate.from_pretrained(tmp_path / "ours", attn_implementation="eager", **options)
    assert type(again.backbone) is type(backbone)
    if options.get("dtype") is None:
        assert_same(model, again, name)
    else:
        assert {weight.dtype for weight in again.backbone.parameters()} == {torch.bfloat16}
        assert {weight.dtype for key, weight in again.named_parameters() if not key.startswith("backbone.")} == {
            torch.float32
        }
        assert all(torch.equal(weight, model.own_state()[key]) for key, weight in again.own_state().items())


def test_a_loaded_model_is_in_evaluation_mode(tmp_path: Path) -> None:
    """The default's head has dropout: without it, every call would answer differently."""
    attached("bert", "in-place").save_pretrained(tmp_path)
    model = numerate.from_pretrained(tmp_path, backbone_of("bert"), tokenizer_of("bert"))
    assert not any(part.training for part in model.modules())


@pytest.mark.parametrize(
    "option", [{"reader": "plain"}, {"notation": "digits"}, {"recipe": "digits"}, {"fit": ["5 km"]}]
)
@pytest.mark.parametrize("passed", [False, True])
def test_options_of_attach_cannot_be_changed(option: dict[str, Any], passed: bool, tmp_path: Path) -> None:
    """With a backbone they were ignored in silence; without one, its class did not know them."""
    attached("bert").save_pretrained(tmp_path)
    parts = {"backbone": backbone_of("bert"), "tokenizer": tokenizer_of("bert")} if passed else {}
    name, value = next(iter(option.items()))
    with pytest.raises(TypeError, match=f"{name}={re.escape(repr(value))} cannot change a saved model"):
        numerate.from_pretrained(tmp_path, **parts, **option)


def test_a_trained_backbone_is_saved_on_request(tmp_path: Path) -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "xval").eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.01)
    model.save_pretrained(tmp_path, backbone=True)
    assert not list(tmp_path.rglob("*.bin")) and not list(tmp_path.rglob("*.pkl"))
    assert_same(model, numerate.from_pretrained(tmp_path, attn_implementation="eager"), "bert")


def test_a_scaling_is_saved(tmp_path: Path) -> None:
    scaling = Scaling(by="none", scaler="range").fit(numerate.find("5 km, 7 kg, 9 km"))
    model = attached("bert", "xval", scaling=scaling)
    model.save_pretrained(tmp_path)
    again = numerate.NumberModel.from_pretrained(tmp_path, backbone_of("bert"), tokenizer_of("bert"))
    assert again.processor.scaling == scaling
    assert_same(model, again, "bert")


@pytest.mark.parametrize("count", [28, 2000])
def test_a_scaling_of_many_fields_is_saved(count: int, tmp_path: Path) -> None:
    numerals = [Numeral("7", 0, 1, float(at + k), path=f"column{at}") for at in range(count) for k in range(2)]
    scaling = Scaling(by="path").fit(numerals)
    model = attached("bert", "xval", scaling=scaling)
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, backbone_of("bert"), tokenizer_of("bert"))
    assert again.processor.scaling == scaling and len(scaling.fields) == count + 1


@pytest.mark.parametrize(
    "options",
    [
        {"objective": {"kind": "masked", "seed": 20240101}},
        {"objective": {"kind": "masked", "number_warmup": 2_000_000}},
        {"recipe": "in-place", "reach": 65},
        {"recipe": "in-place", "relations": 65},
        {"recipe": "fone", "embedder": {"kind": "dice", "seed": 20240101}},
        {"recipe": "xval", "scaling": Scaling(fields={"*": FieldScaler(count=1 << 40, saturated=1 << 30)})},
    ],
    ids=str,
)
def test_what_attach_accepts_is_saved(options: dict[str, Any], tmp_path: Path) -> None:
    model = attached("bert", **options)
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, backbone_of("bert"), tokenizer_of("bert"))
    assert again.describe() == model.describe()


def test_what_cannot_be_saved_is_refused_by_attach() -> None:
    with pytest.raises(ConfigError, match="head: components must be at most 1048576, got 1048577"):
        attached("bert", "in-place", head={"kind": "mixture", "components": (1 << 20) + 1})
    with pytest.raises(ConfigError, match="reach must lie between 0 and 4096, got 4097"):
        attached("bert", "in-place", reach=4097)


def test_a_backbone_of_another_size_is_refused(tmp_path: Path) -> None:
    attached().save_pretrained(tmp_path)
    wide = new_backbone("bert", hidden_size=64)
    with pytest.raises(
        ArtefactError, match="made for a backbone with token embeddings of width 32, this BertForMaskedLM has 64: pass"
    ):
        numerate.from_pretrained(tmp_path, wide, tokenizer_of("bert"))
    with pytest.raises(ArtefactError, match="token ids"):
        numerate.from_pretrained(tmp_path, backbone_of("roberta"), tokenizer_of("roberta"))


@pytest.mark.parametrize("saved, given", [("bert", "classifier"), ("tagger", "bert")])
def test_a_backbone_of_another_task_is_refused(saved: str, given: str, tmp_path: Path) -> None:
    numerate.attach(new_backbone(saved), tokenizer_of(saved)).save_pretrained(tmp_path)
    for check in (True, False):
        with pytest.raises(ArtefactError, match=r"it was saved with a model for .*, and BertFor.* is one for .*: pass"):
            numerate.from_pretrained(tmp_path, new_backbone(given), tokenizer_of(given), check_backbone=check)


def test_a_missing_base_model_is_reported(tmp_path: Path) -> None:
    attached().save_pretrained(tmp_path)
    with pytest.raises(ArtefactError, match="names no base model; pass backbone= and tokenizer="):
        numerate.from_pretrained(tmp_path)


def test_saving_over_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it").write_text("")
    with pytest.raises(ArtefactError, match="is a file; give a folder"):
        attached().save_pretrained(tmp_path / "it")
    with pytest.raises(TypeError, match="backbone must be True, False or None, got 'no'"):
        attached().save_pretrained(tmp_path, backbone="no")


def test_push_uploads_what_save_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    seen: dict[str, Any] = {}

    class Api:
        def create_repo(self, repo_id: str, **options: Any) -> None:
            seen["repo"] = (repo_id, options)

        def upload_folder(self, *, repo_id: str, folder_path: str, **options: Any) -> str:
            seen["files"] = sorted(path.name for path in Path(folder_path).iterdir())
            return f"https://huggingface.co/{repo_id}"

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    assert attached().push_to_hub("me/model", private=True).endswith("me/model")
    assert seen == {
        "repo": ("me/model", {"exist_ok": True, "private": True}),
        "files": ["README.md", CONFIG_FILE, WEIGHTS_FILE],
    }
    with pytest.raises(ArtefactError, match="not a Hub id"):
        attached().push_to_hub("../me")


def test_links_inside_the_hubs_cache_are_followed(tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "models--me--it" / "snapshots" / "abc", tmp_path / "models--me--it" / "blobs"
    model = attached()
    model.save_pretrained(snapshot)
    blobs.mkdir()
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        (snapshot / name).rename(blobs / name)
        (snapshot / name).symlink_to(Path("../../blobs") / name)
    assert_same(model, numerate.from_pretrained(snapshot, backbone_of("bert"), tokenizer_of("bert")), "bert")


# Hostile folders. Each entry spoils a good one in one way.


class Spoil:
    """A folder with a saved model, and ways to spoil it."""

    def __init__(self, folder: Path, canary: Path) -> None:
        self.folder, self.canary = folder, canary
        self.path, self.weights = folder / CONFIG_FILE, folder / WEIGHTS_FILE

    def config(self, **changes: Any) -> None:
        self.path.write_text(json.dumps(json.loads(self.path.read_text()) | changes))

    def inside(self, part: str, **changes: Any) -> None:
        data = json.loads(self.path.read_text())
        data[part] = (data[part] or {}) | changes
        self.path.write_text(json.dumps(data))

    def text(self, text: str) -> None:
        self.path.write_text(text)

    def replace(self, old: str, new: str) -> None:
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new, 1))

    def tensors(self, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
        tensors = load_file(self.weights)
        change(tensors)
        save_file(tensors, self.weights)

    def header(self, header: bytes, size: int | None = None) -> None:
        self.weights.write_bytes(struct.pack("<Q", len(header) if size is None else size) + header)

    def pickled(self) -> bytes:
        canary = self.canary

        class Run:
            def __reduce__(self) -> Any:
                return (Path.write_text, (canary, "touched"))

        return pickle.dumps(Run())

    def link(self, name: str) -> None:
        outside = self.folder.parent / f"outside-{name}"
        (self.folder / name).rename(outside)
        (self.folder / name).symlink_to(outside)

    def link_base(self) -> None:
        backbone_of("bert").save_pretrained(self.folder.parent / "base")
        tokenizer_of("bert").save_pretrained(self.folder.parent / "base")
        (self.folder / "backbone").symlink_to(self.folder.parent / "base")

    def model_with_code(self) -> None:
        base = self.folder.parent / "evil"
        base.mkdir()
        code = f"from pathlib import Path\nPath({str(self.canary)!r}).write_text('touched')\n"
        (base / "modeling_evil.py").write_text(code)
        auto = {"AutoConfig": "modeling_evil.Config", "AutoModelForMaskedLM": "modeling_evil.Model"}
        (base / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": auto}))
        self.config(base_model=str(base))

    def pickled_model(self) -> None:
        base = self.folder.parent / "pickled"
        backbone_of("bert").save_pretrained(base)
        tokenizer_of("bert").save_pretrained(base)
        (base / "model.safetensors").unlink()
        (base / "pytorch_model.bin").write_bytes(self.pickled())
        self.config(base_model=str(base))


def grow(key: str) -> Callable[[dict[str, torch.Tensor]], Any]:
    return lambda tensors: tensors.update({key: torch.zeros(7, 7)})


LIE = json.dumps({"own_rows": {"dtype": "F32", "shape": [1, 32], "data_offsets": [0, 10**12]}}).encode()
HUGE = (
    json.dumps({"own_rows": {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 128]}}).encode() + b" " * 200
)
DEEP = '{"kind":"number-model","version":1,"processor":' + '{"a":' * 100_000 + "1" + "}" * 100_001
NESTED = '{"kind": "sum", "members": [' * 50 + "]}" * 50

HOSTILE: dict[str, Callable[[Spoil], Any]] = {
    "unknown key": lambda it: it.config(embeder=None),
    "newer version": lambda it: it.config(version=2),
    "version as text": lambda it: it.config(version="1"),
    "no version": lambda it: it.replace('"version": 1,', ""),
    "wrong kind": lambda it: it.config(kind="recipe"),
    "not JSON": lambda it: it.text("{'kind': 1"),
    "not an object": lambda it: it.text("[]"),
    "not UTF-8": lambda it: it.path.write_bytes(b"\xff\xfe\x00{"),
    "JSON nested deep": lambda it: it.text(DEEP),
    "a number of a million digits": lambda it: it.replace('"first_id": ', '"first_id": 1' + "0" * 1_000_000),
    "a huge config": lambda it: it.config(base_model="x" * (5 << 20)),
    "NaN": lambda it: it.replace('"gated": false', '"gated": NaN'),
    "infinity inside": lambda it: it.replace('"number_weight": 1.0', '"number_weight": Infinity'),
    "a key twice": lambda it: it.replace('"gated": false', '"gated": false, "gated": true'),
    "wrong types": lambda it: it.config(gated="yes", placement=3),
    "a list for a part": lambda it: it.config(embedder=["char-lstm"]),
    "no such placement": lambda it: it.config(placement="beside"),
    "negative width": lambda it: it.config(embedding_dim=-1),
    "absurd width": lambda it: it.config(embedding_dim=10**9, hidden_dim=10**9),
    "another width": lambda it: it.config(embedding_dim=64),
    "absurd first id": lambda it: it.config(first_id=10**12),
    "another first id": lambda it: it.config(first_id=10**6),
    "absurd layer": lambda it: it.config(embedder={"kind": "value", "hidden": 10**9}),
    "large reach": lambda it: it.config(reach=4096),
    "large late reach": lambda it: it.config(late_reach=4096),
    "many relations": lambda it: it.config(relations=4096),
    "large layer": lambda it: it.config(embedder={"kind": "value", "hidden": 1 << 20}),
    "absurd head": lambda it: it.config(head={"kind": "mixture", "components": 10**9}),
    "negative layer": lambda it: it.config(embedder={"kind": "value", "hidden": -5}),
    "many parts": lambda it: it.config(embedder={"kind": "sum", "members": [{"kind": "float"}] * 5000}),
    "parts in parts": lambda it: it.config(embedder=json.loads(NESTED)),
    "code for an embedder": lambda it: it.config(embedder={"kind": "os.system"}),
    "code for a head": lambda it: it.config(head={"kind": "numerate.heads.scalar:ScalarHead"}),
    "code for an objective": lambda it: it.config(objective={"kind": "__import__('os').system"}),
    "code for a reader": lambda it: it.inside("processor", reader={"kind": "os.system"}),
    "code for a notation": lambda it: it.inside("processor", notation={"kind": "subprocess.run"}),
    "unknown reader option": lambda it: it.inside("processor", reader={"kind": "luna", "hook": "os.system"}),
    "unknown notation option": lambda it: it.inside("processor", notation={"kind": "marker", "run": "x"}),
    "unknown processor key": lambda it: it.inside("processor", tokenizer="evil"),
    "a vast notation": lambda it: it.inside("processor", notation={"kind": "ieee", "base": 10**6}),
    "auto_map": lambda it: it.config(auto_map={"AutoModel": "evil.Model"}),
    "auto_map inside": lambda it: it.inside("embedder", auto_map={"AutoModel": "evil.Model"}),
    "trust_remote_code": lambda it: it.config(trust_remote_code=True),
    "trust_remote_code inside": lambda it: it.inside("processor", trust_remote_code=True),
    "wrong shape": lambda it: it.tensors(grow("own_rows")),
    "wrong shape inside": lambda it: it.tensors(grow("embedder.lstm.weight_ih_l0")),
    "missing tensor": lambda it: it.tensors(lambda tensors: tensors.pop("own_rows")),
    "missing tensor inside": lambda it: it.tensors(lambda tensors: tensors.pop(min(k for k in tensors if "head" in k))),
    "extra tensor": lambda it: it.tensors(grow("more")),
    "tensor for the backbone": lambda it: it.tensors(grow("backbone.bert.pooler.dense.weight")),
    "whole numbers for weights": lambda it: it.tensors(lambda t: t.update(own_rows=t["own_rows"].long())),
    "truncated weights": lambda it: it.weights.write_bytes(it.weights.read_bytes()[:-9]),
    "no weights at all": lambda it: it.weights.write_bytes(b""),
    "lying offsets": lambda it: it.header(LIE),
    "lying shapes": lambda it: it.header(HUGE, len(HUGE) - 200),
    "lying header size": lambda it: it.header(b"{}", 1 << 62),
    "pickle for weights": lambda it: it.weights.write_bytes(it.pickled()),
    "pickle for the config": lambda it: it.path.write_bytes(it.pickled()),
    "weights linked from outside": lambda it: it.link(WEIGHTS_FILE),
    "config linked from outside": lambda it: it.link(CONFIG_FILE),
    "a folder for the weights": lambda it: (it.weights.unlink(), it.weights.mkdir()),
    "no config": lambda it: it.path.unlink(),
}
BASES: dict[str, Callable[[Spoil], Any]] = {
    "base model up the tree": lambda it: it.config(base_model="../../etc"),
    "base model behind an address": lambda it: it.config(base_model="https://evil.example/model"),
    "base model at home": lambda it: it.config(base_model="~/model"),
    "base model with a NUL": lambda it: it.config(base_model="/tmp\0/x"),
    "base model with lines": lambda it: it.config(base_model="a\nb"),
    "base model of no end": lambda it: it.config(base_model="/" + "x" * 5000),
    "base model that is none": lambda it: it.config(base_model="/etc"),
    "base model that is a file": lambda it: it.config(base_model="/etc/passwd"),
    "base model with code": Spoil.model_with_code,
    "base model in pickle": Spoil.pickled_model,
    "no such base task": lambda it: it.config(base_task="os.system", base_model="/etc"),
    "no such base inside": lambda it: it.config(base_included=True),
    "base inside linked from outside": lambda it: (it.config(base_included=True), it.link_base()),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("good")
    model = attached("bert", "luna", embedder={"kind": "char-lstm", "size": "0.1M"})
    model.save_pretrained(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("what", [*HOSTILE, *BASES])
def test_hostile_artefacts_are_refused(what: str, good: dict[str, bytes], tmp_path: Path) -> None:
    folder, canary = tmp_path / "artefact", tmp_path / "canary"
    folder.mkdir()
    canary.write_text("alive")
    for name, content in good.items():
        (folder / name).write_bytes(content)
    (HOSTILE | BASES)[what](Spoil(folder, canary))
    given = () if what in BASES else (backbone_of("bert"), tokenizer_of("bert"))
    with pytest.raises(ArtefactError) as error:
        numerate.from_pretrained(folder, *given)
    message = str(error.value)
    assert isinstance(error.value, NumerateError)
    assert 10 < len(message) <= 400 and message.isprintable()
    assert error.value.__suppress_context__ or error.value.__context__ is None
    assert canary.read_text() == "alive"


@pytest.mark.parametrize("folder", ["no such folder", "../up", "a/b/c", "x\0y", "https://x.example/y", "", "z" * 5000])
def test_a_bad_folder_name_is_refused(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArtefactError):
        numerate.from_pretrained(folder)


def test_weights_can_be_read_by_others_as_the_config_can(tmp_path: Path) -> None:
    attached().save_pretrained(tmp_path, backbone=True)
    weights = list(tmp_path.rglob("*.safetensors"))
    assert len(weights) == 2
    assert {file.stat().st_mode for file in weights} == {(tmp_path / "number_config.json").stat().st_mode}
