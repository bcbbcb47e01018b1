"""Artefacts on disk and on the Hub: a JSON config, a safetensors file and a model card. Never pickle, never code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numerate.config import Config, ConfigError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["CONFIG_FILE", "WEIGHTS_FILE", "ArtefactError", "checked_base", "load_artefact", "push_artefact", "save_artefact"]

CONFIG_FILE = "number_config.json"
WEIGHTS_FILE = "number_model.safetensors"
MAX_CONFIG_BYTES = 4 << 20
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?")

C = TypeVar("C", bound=Config)


class ArtefactError(ValueError):
    """A saved model that cannot be read or does not fit; the message says which file and why."""


def save_artefact(folder: str | Path, config: Config, tensors: dict[str, Tensor], citation: str = "") -> None:
    """Writes config, weights and model card into `folder`, which is made if need be."""
    from safetensors.torch import save_file

    folder = Path(folder)
    if folder.is_file():
        raise ArtefactError(f"{folder} is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: value.detach().cpu().contiguous() for key, value in tensors.items()}, folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(config.to_json(), encoding="utf-8")
    (folder / "README.md").write_text(_card(config.to_dict(), citation), encoding="utf-8")


def load_artefact(folder: str | Path, config_class: type[C]) -> tuple[C, dict[str, Tensor]]:
    """Reads what `save_artefact` wrote, from a local folder or a Hub id."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    place = _local(folder)
    config_path, weights_path = place / CONFIG_FILE, place / WEIGHTS_FILE
    for path in (config_path, weights_path):
        if not path.is_file():
            raise ArtefactError(f"{place} has no {path.name}; it is no folder that save_pretrained wrote")
        if path.resolve().parent != place.resolve() and not _is_cache(path):
            raise ArtefactError(f"{path} leads out of its folder")
    if config_path.stat().st_size > MAX_CONFIG_BYTES:
        raise ArtefactError(f"{config_path} is larger than {MAX_CONFIG_BYTES} bytes")
    try:
        config = config_class.from_json(config_path.read_bytes())
    except (ConfigError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{config_path}: {error}") from None
    try:
        return config, load_file(weights_path)
    except (SafetensorError, OSError, ValueError) as error:
        raise ArtefactError(f"{weights_path} cannot be read: {error}") from None


def push_artefact(folder: str | Path, repo_id: str, **options: Any) -> str:
    """Uploads a saved folder to the Hub and returns its address; see `huggingface_hub.upload_folder`."""
    from huggingface_hub import HfApi

    if not _HUB_ID.fullmatch(repo_id):
        raise ArtefactError(f"{repo_id!r} is no Hub id; write owner/name")
    api = HfApi()
    api.create_repo(repo_id, exist_ok=True, private=options.pop("private", None))
    return str(api.upload_folder(repo_id=repo_id, folder_path=str(folder), **options))


def checked_base(name: str) -> str:
    """A base model's name from a config, if it is a Hub id or the path of an existing folder without `..`."""
    if not name:
        raise ArtefactError("the config names no base model; pass backbone= and tokenizer=")
    if _HUB_ID.fullmatch(name) and not Path(name).exists():
        return name
    path = Path(name)
    unsafe = "\0" in name or "://" in name or ".." in path.parts or name.startswith("~")
    if unsafe or not path.is_dir() or not (path / "config.json").is_file():
        raise ArtefactError(f"base model {name[:80]!r} is no Hub id and no model folder here; pass backbone= and tokenizer=")
    return name


def _local(folder: str | Path) -> Path:
    path = Path(folder)
    if path.is_dir():
        return path
    name = str(folder)
    if not _HUB_ID.fullmatch(name) or path.exists():
        raise ArtefactError(f"{name[:80]!r} is no folder here and no Hub id")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=[CONFIG_FILE, WEIGHTS_FILE]))
    except (OSError, ValueError) as error:
        raise ArtefactError(f"{name!r} cannot be fetched from the Hub: {str(error).splitlines()[0]}") from None


def _is_cache(path: Path) -> bool:
    """The Hub's cache links files out of their folder, into its store of blobs beside it."""
    return path.is_symlink() and path.resolve().parent.name == "blobs"


def _card(config: dict[str, Any], citation: str) -> str:
    front = ["---", "library_name: numerate", "tags: [numerate, numbers]"]
    if base := config.get("base_model"):
        front.append(f"base_model: {json.dumps(base)}")
    lines = [*front, "---", "", "# A sense of numbers", ""]
    lines.append(f"Recipe `{config.get('recipe')}` of numerate on `{config.get('base_model') or 'a base model'}`.")
    lines += ["", "```python", "import numerate", 'model = numerate.from_pretrained("this-repository")', "```", ""]
    if citation:
        lines += ["## Citation", "", citation, ""]
    return "\n".join([*lines, "## Config", "", "```json", json.dumps(config, indent=2), "```", ""])
