"""The embedder of saved probes, for a language model to start from: LUNA's control "trained on toy tasks"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from numerate.config import ConfigError
from numerate.registry import embedders

if TYPE_CHECKING:
    from torch import nn

    from numerate.embedders.base import Embedder

__all__ = ["holds_probes", "kind_of", "load_probed_embedder", "member_of", "save_probes"]

_CONFIG, _WEIGHTS = "embedder.json", "probes.safetensors"
_PREFIX = "embedder."


def save_probes(probes: nn.Module, embedder: Embedder | None, folder: str | Path) -> None:
    """Writes the weights of probes and embedder, and the embedder's config, if there is one."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in probes.state_dict().items()}, target / _WEIGHTS)
    if embedder is not None:
        described = {"width": embedder.width, "embedder": embedder.config.to_dict()}
        (target / _CONFIG).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def holds_probes(folder: str | Path) -> bool:
    """Whether a folder holds saved probes with an embedder."""
    return (Path(folder) / _CONFIG).is_file()


def load_probed_embedder(folder: str | Path, width: int) -> Embedder:
    """The embedder that was trained together with probes.

    Args:
        folder: What `numerate reproduce luna-table2 --save` wrote for an encoding.
        width: Width of the model's token embeddings.

    Raises:
        ConfigError: A file is broken, or the vectors have another width.
    """
    source = Path(folder)
    try:
        described = json.loads((source / _CONFIG).read_text(encoding="utf-8"))
        options, own = dict(described["embedder"]), int(described["width"])
        weights = load_file(source / _WEIGHTS)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        said = " ".join(str(error).split())[:200]
        raise ConfigError(f"{source}: not a folder of saved probes ({said}): save them anew") from None
    if own != width:
        raise ConfigError(
            f"{source}: its vectors have {own} columns, the model's {width}: train probes with width={width}"
        )
    options.pop("version", None)
    found: Any = embedders[options["kind"]].build(width, **{k: v for k, v in options.items() if k != "kind"})
    own_weights = {key.removeprefix(_PREFIX): value for key, value in weights.items() if key.startswith(_PREFIX)}
    report = found.load_state_dict(own_weights, strict=False)
    if wrong := [*report.missing_keys, *report.unexpected_keys]:
        raise ConfigError(f"{source / _WEIGHTS}: the weights do not fit {_CONFIG}, as {wrong[0]!r}: save them anew")
    return found


def kind_of(embedder: Any) -> str:
    """The kind of an embedder or of its description; that of the member, if it is only rescaled.

    Example:
        >>> kind_of({"kind": "rescaled", "members": [{"kind": "dice"}]})
        'dice'
    """
    return embedders.name_of(member_of(embedder)["kind"])


def member_of(embedder: Any) -> Mapping[str, Any]:
    """The description of an embedder; that of the member, if it is only rescaled."""
    options = embedder if isinstance(embedder, Mapping) else embedder.config.to_dict()
    while embedders.name_of(options["kind"]) == "rescaled":
        options = options["members"][0]
    return options
