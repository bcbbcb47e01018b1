"""The folder format of saved models: a JSON config, a safetensors file and a model card, never pickle or code.

A folder may come from anyone: everything is checked before anything is built from it, and whatever is wrong is one
`ArtefactError` of one line.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import ConfigError
from numerate.modeling.compact_storage import BITS, halved, unpacked, unpacked_layout
from numerate.modeling.folder_checks import ArtefactError, is_inside
from numerate.modeling.number_calibration import CALIBRATION_FILE
from numerate.modeling.options import PlacementOptions, fill_defaults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

__all__ = [
    "ADAPTER_FOLDER", "BASE_FOLDER", "CONFIG_FILE", "WEIGHTS_FILE", "Artefact", "ArtefactError", "NumberModelConfig",
    "check_bounds", "check_layout", "check_repeats", "checked_base", "config_text", "load_artefact", "push_artefact",
    "read_config", "read_layout", "save_artefact",
]  # fmt: skip

CONFIG_FILE = "number_config.json"
WEIGHTS_FILE = "number_model.safetensors"
BASE_FOLDER = "backbone"
"""The subfolder of the backbone, if it is saved, too."""
ADAPTER_FOLDER = "adapter"
"""The subfolder of PEFT's adapters, if the backbone has some."""
MAX_CONFIG_BYTES = 16 << 20
"""A scaling of 10,000 fields with long names takes some megabytes."""
MAX_SIZE = 1 << 20
"""The largest integer in the description of a part: no layer is wider, no table longer."""
MAX_COUNT = (1 << 63) - 1
"""The largest integer that is not a size: a seed, a number of steps, or a count of examples."""
MAX_REACH = 1 << 12
MAX_NODES, MAX_PARTS, MAX_DEPTH = 10_000, 32, 16
MAX_FIELDS = 20_000
"""Fields of a scaling: twice as many as a schema of records may have."""
MAX_NAME = 4096
MAX_CARD_CONFIG = 20_000
"""A longer config is not repeated in the model card."""
_NOT_SIZES = frozenset({"seed", "number_warmup", "warmup"})
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_LOADS_CODE = frozenset({"auto_map", "trust_remote_code", "custom_pipelines", "_target_", "__class__"})


@dataclass(frozen=True, kw_only=True)
class NumberModelConfig(PlacementOptions):
    """Everything that is needed to build a `NumberModel` again on the same backbone; see also `PlacementOptions`.

    Attributes:
        recipe: The recipe's name, for the record; None if an option of it was changed.
        base_model: The backbone's Hub id or local folder; empty if it is not known.
        base_task: One of `numerate.modeling.introspection.TASKS`.
        base_included: Whether the backbone is saved in the same folder.
        processor: The output of `NumberProcessor.config`.
        embedder: Kind and options of the embedder; None without one.
        head: Kind and options of the head; None without one.
        objective: Kind and options of the objective; None without one.
        first_id: Id of the first token of our own.
        embedding_dim: Width of the backbone's token embeddings.
        hidden_dim: Width of its last hidden state.
        base_fingerprint: The fingerprint of the backbone's weights without adapters; None where it is not known. See
            `numerate.modeling.fingerprint`.
        adapters: Names of the PEFT adapters in the same folder, and whether each was active; None without adapters.
        fitted: Whether head and embedder were fitted to data or trained.
        trained: Whether the head was trained on numbers.
        max_tokens: The number of tokens at which training texts were cut; None if it is not known.
        stored_bits: 8 if the backbone is stored as whole numbers, see `numerate.modeling.compact_storage`; else None.
    """

    kind: ClassVar[str] = "number-model"
    recipe: str | None = None
    base_model: str = ""
    base_task: str = ""
    base_included: bool = False
    processor: dict[str, Any]
    embedder: dict[str, Any] | None = None
    head: dict[str, Any] | None = None
    objective: dict[str, Any] | None = None
    first_id: int
    embedding_dim: int
    hidden_dim: int
    # Not in the configs of version 0.1, whose models were trained ones.
    base_fingerprint: dict[str, str] | None = None
    adapters: dict[str, bool] | None = None
    fitted: bool = True
    trained: bool = True
    max_tokens: int | None = None
    stored_bits: int | None = None

    def __post_init__(self) -> None:
        fill_defaults(self)
        limits = {"first_id": (1, MAX_SIZE << 4), "embedding_dim": (1, MAX_SIZE), "hidden_dim": (1, MAX_SIZE)}
        limits["max_tokens"] = (1, MAX_SIZE << 4)
        limits |= {field.name: (0, MAX_REACH) for field in dataclasses.fields(PlacementOptions)}
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if isinstance(value, int) and not least <= value <= most:
                raise ConfigError(f"{name} must lie between {least} and {most}, got {value}")
        if self.stored_bits not in (None, BITS):
            raise ConfigError(f"stored_bits must be {BITS} or null, got {self.stored_bits}")
        if len(self.base_model) > MAX_NAME:
            raise ConfigError(f"base_model must have at most {MAX_NAME} characters, got {len(self.base_model)}")
        for name in ("embedder", "head", "objective"):
            check_bounds(getattr(self, name), name)
        # A scaling has a scaler for each field of the data, so there may be thousands, but each is five numbers.
        check_bounds({key: value for key, value in self.processor.items() if key != "scaling"}, "processor")
        scaling = self.processor.get("scaling")
        check_bounds(scaling, "scaling", MAX_COUNT, nodes=16 * MAX_FIELDS, parts=MAX_FIELDS)


@dataclass(frozen=True)
class Artefact:
    """A saved model whose config is checked and whose weights have not been read yet.

    `layout` has the type and shape of each tensor, from the header of the file `weights_name`; `from_hub` says that the
    user gave a Hub id and not a folder. The backbone's weights are in the same file if `is_checkpoint`: it is what a
    Trainer wrote. `adapter_configs` are then those of PEFT, and `base_files` the backbone's JSON files by name.
    """

    folder: Path
    config: NumberModelConfig
    layout: dict[str, tuple[str, tuple[int, ...]]]
    from_hub: bool = False
    weights_name: str = WEIGHTS_FILE
    is_checkpoint: bool = False
    adapter_configs: dict[str, Any] = dataclasses.field(default_factory=dict)
    base_files: dict[str, Any] = dataclasses.field(default_factory=dict)

    def tensors(self) -> dict[str, Tensor]:
        """Reads the weights."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(self.folder / self.weights_name)
            return tensors if self.config.stored_bits is None else unpacked(tensors)
        except (SafetensorError, OSError, ValueError, RuntimeError) as error:
            raise ArtefactError(f"{self.folder / self.weights_name} cannot be read: {error}") from None


def save_artefact(
    folder: str | Path, config: NumberModelConfig, tensors: dict[str, Tensor], citation: str = "",
    tags: Sequence[str] = (),
) -> None:  # fmt: skip
    """Writes config, weights and model card (with `tags`) into `folder`, which is created if it does not exist."""
    from safetensors.torch import save_file

    folder = Path(folder)
    if folder.is_file():
        raise ArtefactError(f"{folder} is a file; give a folder")
    text = config_text(config)
    folder.mkdir(parents=True, exist_ok=True)
    # Clones: safetensors refuses tensors that share memory.
    clones = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    save_file(clones if config.stored_bits is None else halved(clones), folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(_card(config, citation, tags), encoding="utf-8")


def config_text(config: NumberModelConfig) -> str:
    """The content of `number_config.json`; raises a `ConfigError` if `load_artefact` would refuse it."""
    try:
        text = config.to_json()
    except ValueError as error:  # NaN or infinity
        raise ConfigError(f"{config.kind} config: {error}") from None
    if len(text.encode()) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{config.kind} config: must be at most {MAX_CONFIG_BYTES} bytes, got {len(text.encode())}")
    return text


def load_artefact(folder: str | Path) -> Artefact:
    """Reads config and header of what `save_artefact` or a Trainer wrote, from a local folder or a Hub id."""
    from numerate.modeling.trainer_checkpoint import load_checkpoint

    place = _local(folder)
    if not (place / CONFIG_FILE).exists() and (found := load_checkpoint(place)) is not None:
        return dataclasses.replace(found, from_hub=not Path(folder).is_dir())
    if (place / "model.safetensors").is_file():
        raise ArtefactError(f"{place} has {CONFIG_FILE} and a Trainer's model.safetensors: remove the older of the two")
    config_path, weights_path = place / CONFIG_FILE, place / WEIGHTS_FILE
    for path in (config_path, weights_path):
        if not path.is_file():
            if (place / "adapter_config.json").is_file():
                said = (
                    "load it with peft.PeftModel.from_pretrained(model, folder) on the model that they were trained on"
                )
                raise ArtefactError(f"{place} has adapters of PEFT for a whole NumberModel: {said}")
            raise ArtefactError(f"{place} has no {path.name}; it was not written by save_pretrained")
        if not is_inside(path, place):
            raise ArtefactError(f"{path} links to a file outside of its folder")
    if config_path.stat().st_size > MAX_CONFIG_BYTES:
        raise ArtefactError(f"{config_path} is larger than {MAX_CONFIG_BYTES} bytes")
    config = read_config(config_path.read_bytes(), config_path)
    layout = read_layout(weights_path)
    layout = layout if config.stored_bits is None else unpacked_layout(layout, weights_path)
    return Artefact(place, config, layout, from_hub=not Path(folder).is_dir())


def check_bounds(
    description: Any, where: str, largest: int = MAX_SIZE, *, nodes: int = MAX_NODES, parts: int = MAX_PARTS
) -> None:
    """Raises a `ConfigError` if the description of a part is too large, nested too deep, or names code to load."""
    seen = kinds = 0
    level = [("", description)]
    for _ in range(MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for key, item in level:
            most = MAX_COUNT if key in _NOT_SIZES else largest
            if isinstance(item, int) and abs(item) > most:
                raise ConfigError(f"{where}: {key or 'value'} must be at most {most}, got {str(item)[:20]}")
            if isinstance(item, dict):
                if code := _LOADS_CODE & item.keys():
                    raise ConfigError(f"{where}: {min(code)!r} would load code")
                kinds += "kind" in item
                below.extend(item.items())
            elif isinstance(item, list | tuple):
                below.extend((key, each) for each in item)
        seen += len(level)
        if seen + len(below) > nodes or kinds > parts:
            raise ConfigError(f"{where}: more than {nodes} values or {parts} parts")
        level = below
    if level:
        raise ConfigError(f"{where}: nested more than {MAX_DEPTH} deep")


def check_repeats(description: Any, where: str, tensors: int) -> None:
    """Raises an `ArtefactError` if a part has more layers than tensors: building 100,000 layers takes minutes."""
    waiting = [("", description)]
    while waiting:
        key, item = waiting.pop()
        if isinstance(item, dict):
            waiting += list(item.items())
        elif isinstance(item, list | tuple):
            waiting += [(key, each) for each in item]
        elif isinstance(item, int) and key in ("layers", "blocks") and item > max(1, tensors):
            raise ArtefactError(f"{where}: {key} is {item}, but the weights have {tensors} tensors")


def check_layout(found: Mapping[str, tuple[str, tuple[int, ...]]], expected: Mapping[str, Tensor], where: Any) -> None:
    """Raises an `ArtefactError` if a tensor is missing, unknown, or of another shape or type than expected."""
    for key in sorted(found.keys() ^ expected.keys()):
        raise ArtefactError(f"{where}: tensor {key!r} is {'missing' if key in expected else 'unknown'}")
    for key, (dtype, shape) in found.items():
        if shape != tuple(expected[key].shape):
            raise ArtefactError(f"{where}: tensor {key!r} is {shape}, expected {tuple(expected[key].shape)}")
        if dtype.startswith(("F", "BF")) != expected[key].is_floating_point():
            raise ArtefactError(f"{where}: tensor {key!r} is of type {dtype}, expected {expected[key].dtype}")


def push_artefact(folder: str | Path, repo_id: str, **options: Any) -> str:
    """Uploads a saved folder to the Hub; returns its address. Options as `huggingface_hub.upload_folder` takes them."""
    from huggingface_hub import HfApi

    if not _HUB_ID.fullmatch(repo_id):
        raise ArtefactError(f"{repo_id!r} is not a Hub id; write owner/name")
    api = HfApi()
    try:
        api.create_repo(repo_id, exist_ok=True, private=options.pop("private", None))
        return str(api.upload_folder(repo_id=repo_id, folder_path=str(folder), **options))
    except (OSError, ValueError, RuntimeError) as error:  # no network, no right to write, a server's answer
        raise ArtefactError(f"{repo_id!r} cannot be uploaded: {error}") from None


def checked_base(name: str, *, folders: bool = True) -> str:
    """Returns the base model's name if it is a Hub id or the path, without `..`, of an existing model folder.

    With `folders=False`, only Hub ids are accepted: a model of the Hub may not name folders of this machine.
    """
    if not name:
        raise ArtefactError("the config names no base model; pass backbone= and tokenizer=")
    path = Path(name)
    unsafe = not name.isprintable() or "://" in name or ".." in path.parts or len(name) > 1000
    unsafe = unsafe or name.startswith(("~", "//", "\\\\"))  # the last two are folders of other machines
    if not unsafe and _HUB_ID.fullmatch(name) and not path.exists():
        return name
    if unsafe or not folders or not path.is_dir() or not (path / "config.json").is_file():
        what = "neither a Hub id nor a local model folder" if folders else "not a Hub id"
        raise ArtefactError(f"base model {name[:80]!r} is {what}; pass backbone= and tokenizer=")
    return name


def read_config(text: bytes, where: Any) -> NumberModelConfig:
    """The config in a JSON text; `where` names it in errors."""
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
        if isinstance(data, dict) and not {"kind", "version"} <= data.keys():
            raise ConfigError("'kind' and 'version' are needed")
        return NumberModelConfig.from_dict(data)
    except RecursionError:
        raise ArtefactError(f"{where}: nested too deep") from None
    except ValueError as error:
        raise ArtefactError(f"{where}: {error}") from None


def read_layout(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of each tensor of a safetensors file, from its header."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            slices = {key: file.get_slice(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
            return {key: (part.get_dtype(), tuple(part.get_shape())) for key, part in slices.items()}
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise ArtefactError(f"{path} cannot be read: {error}") from None


def _no_constant(name: str) -> None:
    raise ConfigError(f"{name} is not JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ConfigError("a key occurs twice")
    return result


def _local(folder: str | Path) -> Path:
    if not isinstance(folder, str | Path):
        given = repr(folder)[:60] if folder is None or isinstance(folder, int | float) else type(folder).__name__
        raise ArtefactError(f"from_pretrained takes a folder or a Hub id, got {given}")
    name = str(folder)
    if not name.isprintable() or len(name) > 4000:
        raise ArtefactError(f"{name[:80]!r} is neither a local folder nor a Hub id")
    path = Path(folder)
    if path.is_dir():
        return path
    if not _HUB_ID.fullmatch(name) or path.exists():
        raise ArtefactError(f"{name[:80]!r} is neither a local folder nor a Hub id")
    from huggingface_hub import snapshot_download

    try:
        kinds = ("json", "safetensors", "jinja")
        inside = [f"{folder}/*.{kind}" for folder in (BASE_FOLDER, ADAPTER_FOLDER) for kind in kinds]
        patterns = [CONFIG_FILE, WEIGHTS_FILE, CALIBRATION_FILE, "model.safetensors", *inside]
        return Path(snapshot_download(name, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        raise ArtefactError(
            f"there is no folder {name!r}, and no such model in the cache or on the Hub: {error}"
        ) from None


def _card(config: NumberModelConfig, citation: str, tags: Sequence[str]) -> str:
    base, recipe = config.base_model, config.recipe
    every = ["numerate", "numbers", *(json.dumps(tag) for tag in tags if tag not in ("numerate", "numbers"))]
    front = ["---", "library_name: numerate", f"tags: [{', '.join(every)}]"]
    if _HUB_ID.fullmatch(base):
        front.append(f"base_model: {json.dumps(base)}")
    on = f"`{base}`" if _HUB_ID.fullmatch(base) else f"`{Path(base).name}`" if base else "a base model"
    made = f"Recipe `{recipe}` of numerate" if recipe else "A recipe of its own, made with numerate,"
    lines = [*front, "---", "", "# A sense of numbers", "", f"{made} on {on}."]
    lines += ["", "```python", "import numerate", 'model = numerate.from_pretrained("this-repository")', "```", ""]
    if citation:
        lines += ["## Citation", "", citation, ""]
    shown = config.to_json().rstrip()
    if len(shown) > MAX_CARD_CONFIG:
        return "\n".join([*lines, f"The config is in `{CONFIG_FILE}`.", ""])
    return "\n".join([*lines, "## Config", "", "```json", shown, "```", ""])
