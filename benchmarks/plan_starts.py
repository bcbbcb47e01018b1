"""Models that one run trains for others: packed as differences from the model they began with, and put together again.

A pre-trained model has as many weights as its checkpoint, but most bits of a bfloat16 weight stay the same. Each weight
is stored as its exclusive or with the checkpoint's, high and low bytes apart: two thirds of the size, and no bit lost.
"""

from __future__ import annotations

import json
import lzma
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

CHANGED = "changed.xz"
"""The weights of a model as differences; `changed.json` beside it has their names and shapes."""
PIECE = 15 << 20
"""Bytes of a piece of such a file."""


def backbone_file(folder: Path) -> Path:
    """The file of a saved model's backbone weights."""
    found = [file for file in folder.rglob("*.safetensors") if file.name == "model.safetensors"]
    if len(found) != 1:
        raise ValueError(f"{folder}: expected one model.safetensors, found {len(found)}")
    return found[0]


def compress(file: Path, base: Path) -> None:
    """Replaces a file of bfloat16 weights by its differences from another one."""
    import torch
    from safetensors.torch import load_file

    weights, known = load_file(file), load_file(base)
    described, low, high = [], bytearray(), bytearray()
    for name, weight in weights.items():
        if weight.dtype != torch.bfloat16:
            raise ValueError(f"{file}: {name!r} is {weight.dtype}, expected bfloat16")
        words = _words(weight)
        if name in known and known[name].shape == weight.shape and known[name].dtype == weight.dtype:
            words = words ^ _words(known[name])
        content = words.numpy().tobytes()
        described.append([name, list(weight.shape)])
        low += content[0::2]
        high += content[1::2]
    file.with_name("changed.json").write_text(json.dumps({"weights": described, "low": len(low)}), "utf-8")
    packed = lzma.compress(bytes(low + high), preset=1)
    for number, begin in enumerate(range(0, len(packed), PIECE)):
        file.with_name(f"{CHANGED}.{number}").write_bytes(packed[begin : begin + PIECE])
    file.unlink()


def expand(file: Path, base: Path) -> None:
    """Undoes `compress`; a file that is there stays."""
    import numpy as np
    import torch
    from safetensors.torch import load_file, save_file

    about = file.with_name("changed.json")
    if file.is_file() or not about.is_file():
        return
    pieces = sorted(file.parent.glob(f"{CHANGED}.*"), key=lambda each: int(each.suffix[1:]))
    content = np.frombuffer(lzma.decompress(b"".join(piece.read_bytes() for piece in pieces)), dtype=np.uint8)
    described = json.loads(about.read_text("utf-8"))
    both = np.stack([content[: described["low"]], content[described["low"] :]], axis=1)
    words, known = torch.from_numpy(both.copy().view(np.int16)[:, 0].copy()), load_file(base)
    made: dict[str, Tensor] = {}
    begin = 0
    for name, shape in described["weights"]:
        size = int(np.prod(shape))
        own = words[begin : begin + size].view(*shape)
        if name in known and list(known[name].shape) == shape and known[name].dtype == torch.bfloat16:
            own = own ^ _words(known[name])
        made[name], begin = own.view(torch.bfloat16).contiguous(), begin + size
    save_file(made, file, metadata={"format": "pt"})
    for each in (about, *pieces):
        each.unlink()


def _words(weight: Any) -> Any:
    import torch

    return weight.contiguous().view(torch.int16)


def pack_starts(folders: Iterable[Path], work: Path, output: Path, base: Path, room: int) -> list[str]:
    """Writes `starts-1.zip` and so on, in the order of the folders, of at most 15 MiB each and `room` bytes in all.

    Returns:
        The names of the folders that found no place.
    """
    left_out: list[str] = []
    parts: list[list[Path]] = [[]]
    used = 0
    for folder in folders:
        copy = output / "unpacked" / folder.relative_to(work)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        compress(backbone_file(copy), base)
        files = sorted((file for file in copy.rglob("*") if file.is_file()), key=lambda file: -file.stat().st_size)
        size = sum(file.stat().st_size for file in files)
        if used + size > room:
            left_out.append(folder.name)
            continue
        used += size
        for file in files:
            fitting = (some for some in parts if sum(f.stat().st_size for f in some) + file.stat().st_size <= PIECE)
            some = next(fitting, None)
            if some is None:
                parts.append([file])
            else:
                some.append(file)
    for number, some in enumerate((some for some in parts if some), 1):
        with zipfile.ZipFile(output / f"starts-{number}.zip", "w", zipfile.ZIP_STORED) as archive:
            for file in some:
                archive.write(file, file.relative_to(output / "unpacked"))
    shutil.rmtree(output / "unpacked", ignore_errors=True)
    return left_out


def unpack_starts(work: Path, base: Path) -> None:
    """Puts models together whose pieces were joined into a folder."""
    for about in sorted(work.rglob("changed.json")):
        expand(about.with_name("model.safetensors"), base)


def forget_lost(starts: dict[str, str]) -> list[str]:
    """Deletes results of trainings whose models are gone, so that they are trained again; the files' names."""
    lost = []
    for row, folder in starts.items():
        if not Path(folder).is_dir():
            lost += list(Path(folder).parents[1].glob(f"{row}-rate*.json"))
    for file in lost:
        file.unlink()
    return [file.name for file in lost]
