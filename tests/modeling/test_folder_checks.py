"""Hostile model folders: nothing in them reaches the network, names another folder, chooses code or builds giants."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub
import pytest
import transformers
from safetensors.torch import load_file, save_file
from tiny_models import backbone_of, tokenizer_of

import numerate
from numerate.apps.fill import fill
from numerate.errors import BadInput
from numerate.modeling.artefact import CONFIG_FILE, ArtefactError
from numerate.modeling.folder_checks import check_base_folder, is_inside, read_json

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "model"
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), embedder={"kind": "bits"}, head="scalar")
    model.save_pretrained(folder, backbone=True)
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "model"))


def change(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def moved(file: Path) -> None:
    outside = file.parent.parent.parent / f"outside-{file.name}"
    file.rename(outside)
    file.symlink_to(outside)


HOSTILE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "100,000 layers": (lambda it: change(it / "config.json", num_hidden_layers=100_000), "num_hidden_layers is 100000"),
    "100,000 layers below": (lambda it: change(it / "config.json", text={"n_layer": 100_000}), "n_layer is 100000"),
    "a number of layers as long as a text": (
        lambda it: change(it / "config.json", num_hidden_layers=10**4000),
        "num_hidden_layers is 1000000000",
    ),
    "wide layers": (lambda it: change(it / "config.json", hidden_size=1 << 16), "asks for .* weights, but"),
    "a vast vocabulary": (lambda it: change(it / "config.json", vocab_size=10**9), "asks for .* weights, but"),
    "many positions": (lambda it: change(it / "config.json", max_position_embeddings=10**8), "asks for .* weights"),
    "another package for quantised weights": (
        lambda it: change(it / "config.json", quantization_config={"quant_method": "gptq", "bits": 4}),
        "quantization_config of the method 'gptq' is not loaded from a folder: load the base model yourself",
    ),
    "an unknown option of quantised weights": (
        lambda it: change(it / "config.json", text={"quantization_config": {"quant_method": "bitsandbytes", "x": 1}}),
        "quantization_config has the option 'x', which is not loaded from a folder",
    ),
    "attention from the Hub": (
        lambda it: change(it / "config.json", attn_implementation="evil/attention"),
        "attn_implementation must be one of eager, sdpa, got 'evil/attention'",
    ),
    "an adapter of another model": (
        lambda it: (it / "adapter_config.json").write_text('{"base_model_name_or_path": "evil/model"}'),
        "is an adapter of another model",
    ),
    "weights elsewhere": (
        lambda it: (it / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../../x.safetensors"}}'),
        "names files outside of its folder",
    ),
    "linked weights": (lambda it: moved(it / "model.safetensors"), "links to a file outside of its folder"),
    "linked tokenizer": (lambda it: moved(it / "tokenizer.json"), "links to a file outside of its folder"),
    "a deep config": (lambda it: (it / "config.json").write_text('{"a":' * 99_999), "cannot be read"),
    "a list for a config": (lambda it: (it / "config.json").write_text("[]"), "is not a JSON object"),
    "a vast config": (lambda it: (it / "config.json").write_text(" " * (17 << 20)), "is larger than 16777216 bytes"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_backbone_is_refused_before_it_is_built(what: str, folder: Path) -> None:
    spoil, message = HOSTILE[what]
    spoil(folder / "backbone")
    start = time.monotonic()
    with pytest.raises(ArtefactError, match=message) as error:
        numerate.from_pretrained(folder)
    assert time.monotonic() - start < 20 and len(str(error.value)) <= 400
    with pytest.raises(BadInput, match=message):
        fill("It is [MASK].", [str(folder / "backbone")])


@pytest.mark.parametrize("what", ["embedder", "head"])
def test_more_layers_than_tensors_are_refused(what: str, folder: Path) -> None:
    parts = {"kind": "bits", "blocks": 100_000} if what == "embedder" else {"kind": "scalar", "layers": 100_000}
    change(folder / CONFIG_FILE, **{what: parts})
    with pytest.raises(ArtefactError, match=f"{what}: (blocks|layers) is 100000, but the weights have .* tensors"):
        numerate.from_pretrained(folder)


def test_quantised_weights_of_bitsandbytes_or_as_asked(folder: Path) -> None:
    usual = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    change(folder / "backbone" / "config.json", quantization_config=usual)
    check_base_folder(folder / "backbone", "AutoTokenizer")
    change(folder / "backbone" / "config.json", quantization_config={"quant_method": "gptq"})
    check_base_folder(folder / "backbone", "AutoTokenizer", quantised=True)


def test_a_good_folder_and_the_hubs_cache_are_accepted(folder: Path, tmp_path: Path) -> None:
    assert numerate.from_pretrained(folder).embedder is not None
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    shutil.copytree(folder / "backbone", snapshot / "backbone")
    blobs.mkdir()
    for path in list((snapshot / "backbone").iterdir()):
        path.rename(blobs / path.name)
        path.symlink_to(Path("../../../blobs") / path.name)
    check_base_folder(snapshot / "backbone", "AutoModelForMaskedLM")
    (snapshot / "backbone" / "more.json").symlink_to(folder / CONFIG_FILE)
    assert not is_inside(snapshot / "backbone" / "more.json", snapshot)
    with pytest.raises(ArtefactError, match="links to a file outside"):
        read_json(snapshot / "backbone" / "more.json", snapshot)


def test_a_folder_starts_no_download(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base model that a folder names by a Hub id comes from the cache, unless the user asks for the network."""
    for name in (CONFIG_FILE, "number_model.safetensors"):
        shutil.copy(good / name, tmp_path / name)
    change(tmp_path / CONFIG_FILE, base_included=False, base_model="owner/base")
    asked: list[Any] = []

    def refuse(name: str, **options: Any) -> None:
        asked.append((name, options["local_files_only"], options["trust_remote_code"]))
        raise OSError("no network")

    monkeypatch.setattr(transformers.AutoModelForMaskedLM, "from_pretrained", refuse)
    with pytest.raises(ArtefactError, match=r"'owner/base' is not in the local cache.* run `hf download owner/base`"):
        numerate.from_pretrained(tmp_path)
    with pytest.raises(ArtefactError, match="cannot be loaded: no network"):
        numerate.from_pretrained(tmp_path, local_files_only=False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    with pytest.raises(ArtefactError, match="cannot be loaded: no network"):
        numerate.from_pretrained("owner/numbers")
    assert asked == [("owner/base", True, False), ("owner/base", False, False), ("owner/base", False, False)]
    change(tmp_path / CONFIG_FILE, base_model=str(good / "backbone"))
    with pytest.raises(ArtefactError, match="is not a Hub id"):
        numerate.from_pretrained("owner/numbers")
    for name in ("//host/share/model", "\\\\host\\share"):
        change(tmp_path / CONFIG_FILE, base_model=name)
        with pytest.raises(ArtefactError, match="neither a Hub id nor a local model folder"):
            numerate.from_pretrained(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("file", ["number_model.safetensors", "backbone/model.safetensors"])
def test_weights_that_are_not_finite_are_refused(file: str, value: float, folder: Path) -> None:
    tensors = load_file(folder / file)
    key = "own_rows" if "own_rows" in tensors else "bert.encoder.layer.1.output.dense.weight"
    tensors[key][-1, -1] = value
    save_file(tensors, folder / file, metadata={"format": "pt"})
    what = "NaN" if value != value else "infinite"
    with pytest.raises(ArtefactError, match=f"tensor '{key}' has {what} values: the file is damaged, or training"):
        numerate.from_pretrained(folder)
    if "backbone" in file:
        with pytest.raises(BadInput, match=f"has {what} values"):
            fill("It is [MASK].", [str(folder / "backbone")])


def test_fill_runs_no_code_and_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auto = {"AutoConfig": "evil.Config", "AutoModelForMaskedLM": "evil.Model", "AutoTokenizer": [None, "evil.Words"]}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": auto}))
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'touched')!r}, 'w')\n")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    with pytest.raises(BadInput, match="cannot load"):
        fill("It is [MASK].", [str(tmp_path)])
    assert not (tmp_path / "touched").exists()
