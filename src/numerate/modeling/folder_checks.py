"""Checks of a model folder that may come from anyone, before Hugging Face's loaders read it.

Nothing in such a folder may reach the network, name another folder, choose code, or make the program build a model that
is much larger than its weights. Whatever is wrong is one `ArtefactError` of one line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor

__all__ = ["ArtefactError", "check_base_folder", "check_finite", "check_links", "is_inside", "read_json"]

MAX_JSON_BYTES = 16 << 20
MAX_REPEATED = 1024
"""Layers, blocks or experts that a config may ask for if its weights do not have more tensors than that."""
_REPEATED = re.compile(r"(?:num|n)_(?:.*_)?(?:layer|block|expert|stage)s?|.*layers|depths?|block_sizes", re.ASCII)
"""Keys of configs that say how often a part is repeated: num_hidden_layers, n_layer, encoder_layers, num_experts."""
_ATTENTION = ("attn_implementation", "_attn_implementation", "_attn_implementation_internal", "experts_implementation")
_SAFE_ATTENTION = (None, "eager", "sdpa")
_BITSANDBYTES = re.compile(r"quant_method|_?load_in_[48]bit|bnb_4bit_\w+|llm_int8_\w+", re.ASCII)
"""Options of `quantization_config` that a folder may have: they choose how numbers are stored, and nothing else."""
_SLACK = 1 << 26
"""Parameters and buffers that a model may have besides four for each byte of its weights."""


class ArtefactError(NumerateError, ValueError):
    """A saved model that cannot be read or does not fit; the message says which file and why, on one line."""

    def __init__(self, message: str) -> None:
        line = " ".join("".join(char if char.isprintable() else " " for char in message[:2000]).split())
        super().__init__(line if len(line) <= 400 else line[:397] + "...")


def is_inside(path: Path, place: Path) -> bool:
    """Whether a file is in a folder, or in the Hub's cache, where `snapshots/<commit>` links into `blobs`."""
    file, folder = path.resolve(), place.resolve()
    if file.is_relative_to(folder):
        return True
    for above in (folder, *folder.parents):
        if above.parent.name == "snapshots":
            return file.is_relative_to(above.parent.parent / "blobs")
    return False


def read_json(path: Path, place: Path | None = None) -> Any:
    """The content of a JSON file of a folder.

    Raises:
        ArtefactError: The file is a link that leaves the folder `place`, is too large, or is not JSON.
    """
    if place is not None and not is_inside(path, place):
        raise ArtefactError(f"{path} links to a file outside of its folder")
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise ArtefactError(f"{path} is larger than {MAX_JSON_BYTES} bytes")
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, ArtefactError):
            raise
        raise ArtefactError(f"{path} cannot be read: {error}") from None


def check_base_folder(
    folder: str | Path, auto: str, *, links: bool = True, weights: Path | None = None, quantised: bool = False
) -> None:
    """Refuses a folder of a base model that may not be loaded by the Auto class `auto` of transformers.

    Refused are: links that leave the folder (unless `links` is False), adapters (which name another model), attention
    implementations that would be fetched from the Hub, weights in other folders, quantised weights of other packages
    than bitsandbytes (unless `quantised`), and a config of a model much larger than the weights beside it (or in the
    folder `weights`).

    Raises:
        ArtefactError: The folder is refused.
    """
    place = Path(folder)
    if links:
        check_links(place)
    if (place / "adapter_config.json").exists():
        raise ArtefactError(f"{place} is an adapter of another model: load that one, and pass backbone= and tokenizer=")
    for index in place.glob("*.index.json"):
        names = read_json(index)
        names = names.get("weight_map") if isinstance(names, dict) else None
        if not isinstance(names, dict) or any(Path(str(name)).name != name for name in names.values()):
            raise ArtefactError(f"{index} names files outside of its folder")
    config = read_json(place / "config.json")
    if not isinstance(config, dict):
        raise ArtefactError(f"{place / 'config.json'} is not a JSON object")
    if not quantised:
        _check_quantisation(place, config)
    stored, tensors = _stored(weights or place)
    for key, value in _leaves(config):
        if key in _ATTENTION and value not in _SAFE_ATTENTION:
            raise ArtefactError(f"{place}: {key} must be one of eager, sdpa, got {str(value)[:60]!r}")
        if isinstance(value, int) and _REPEATED.fullmatch(key[:100]):
            _check_count(place, key, value, tensors)
    if auto != "AutoTokenizer":
        _check_size(place, auto, stored, tensors)


def check_links(folder: str | Path) -> None:
    """Refuses a folder with links that leave it.

    Raises:
        ArtefactError: The folder has such a link.
    """
    place = Path(folder)
    for path in place.iterdir():
        if path.is_symlink() and not is_inside(path, place):
            raise ArtefactError(f"{path} links to a file outside of its folder")


def check_finite(weights: Iterable[tuple[str, Tensor]], where: Any, *, infinite: bool = True) -> None:
    """Refuses weights that are NaN, or infinite unless `infinite` is False: every prediction would be NaN.

    Raises:
        ArtefactError: A tensor has such values.
    """
    for key, weight in weights:
        if weight.is_meta or weight.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            continue  # not loaded yet, or quantised
        if bool(weight.isnan().any()) or (infinite and bool(weight.isinf().any())):
            what = "NaN" if bool(weight.isnan().any()) else "infinite"
            raise ArtefactError(f"{where}: tensor {key!r} has {what} values: the file is damaged, or training diverged")


def _check_quantisation(place: Path, config: dict[str, Any]) -> None:
    """Refuses quantised weights whose config would choose a package, or options that we do not know."""
    stack: list[Any] = [config]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack += item
        if not isinstance(item, dict):
            continue
        stack += item.values()
        found = item.get("quantization_config")
        if found is None:
            continue
        method = str(found.get("quant_method") if isinstance(found, dict) else found)[:60]
        said = f"{place}: quantization_config of the method {method!r}"
        if method == "bitsandbytes":
            unknown = [name for name in found if not _BITSANDBYTES.fullmatch(str(name)[:100])]
            if not unknown:
                continue
            said = f"{place}: quantization_config has the option {str(unknown[0])[:60]!r}, which"
        raise ArtefactError(f"{said} is not loaded from a folder: load the base model yourself, and pass backbone=")


def _check_count(place: Path, key: str, count: Any, tensors: int) -> None:
    if isinstance(count, int) and count > max(MAX_REPEATED, tensors):
        raise ArtefactError(f"{place}: {key[:60]} is {str(count)[:20]}, but the weights have {tensors} tensors")


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Keys and values of a nested config that are no mappings; a list has the key of its place, and its length, too."""
    stack = [("", value)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack += [(str(name), each) for name, each in value.items()]
        elif isinstance(value, list):
            yield key, len(value)
            stack += [(key, each) for each in value]
        else:
            yield key, value


def _stored(place: Path) -> tuple[int, int]:
    """Bytes of the weights in a folder, and the number of tensors where that is known."""
    from safetensors import SafetensorError, safe_open

    size = tensors = 0
    for path in (*place.glob("*.safetensors"), *place.glob("*.bin")):
        size += path.stat().st_size
        if path.suffix == ".safetensors":
            try:
                with safe_open(path, framework="pt") as file:
                    tensors += len(file.keys())
            except (SafetensorError, OSError, ValueError, RuntimeError) as error:
                raise ArtefactError(f"{path} cannot be read: {error}") from None
    return size, tensors


def _check_size(place: Path, auto: str, stored: int, tensors: int) -> None:
    """Builds the model without memory for its weights, and compares their number with the bytes that are stored."""
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(place, trust_remote_code=False)
        _check_count(place, "num_hidden_layers", getattr(config, "num_hidden_layers", None), tensors)
        with torch.device("meta"):
            model = getattr(transformers, auto).from_config(config, trust_remote_code=False)
    except ArtefactError:
        raise
    except Exception as error:  # a hostile config may fail anywhere
        raise ArtefactError(f"base model {str(place)!r} cannot be loaded: {error}") from None
    size = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if size > 4 * stored + _SLACK:
        raise ArtefactError(f"{place}: its config asks for {size:,} weights, but {stored:,} bytes are stored")
