"""How a `NumberModel` is kept: its config, its own weights without the backbone's, a folder, the Hub."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.modeling.artefact import BASE_FOLDER, NumberModelConfig, push_artefact, save_artefact
from numerate.modeling.introspection import base_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

__all__ = ["Keeps"]


class Keeps:
    """The part of a `NumberModel` that describes and saves it."""

    backbone: Any
    citation: Any
    info: Any
    embedder: Any
    gate: Any
    head: Any
    late_reach: Any
    objective: Any
    placement: Any
    processor: Any
    reach: Any
    recipe: Any
    relations: Any
    state_dict: Any

    def own_state(self) -> dict[str, Tensor]:
        """The weights that are ours, without the backbone's."""
        return _apart(self.state_dict())[0]

    def save_pretrained(
        self, folder: str | Path, *, backbone: bool = False, state_dict: dict[str, Tensor] | None = None, **options: Any
    ) -> None:
        """Writes config, weights of ours and a model card into `folder`.

        Args:
            folder: Is made if need be.
            backbone: Save the backbone and its tokenizer, too, in a folder below: for one that was trained.
            state_dict: The model's weights, for one whose own are spread over several processes.
            **options: What else Hugging Face tools pass; not used.
        """
        del options
        own = self.own_state() if state_dict is None else _apart(state_dict)[0]
        save_artefact(folder, replace(self.describe(), base_included=backbone), own, self.citation)
        if backbone:
            inside = str(Path(folder) / BASE_FOLDER)
            base_of(self.backbone).save_pretrained(inside, state_dict=state_dict and _apart(state_dict)[1])
            self.processor.tokenizer.save_pretrained(inside)

    def describe(self) -> NumberModelConfig:
        """The config that `numerate.from_pretrained` builds the model from."""
        base = str(getattr(base_of(self.backbone).config, "_name_or_path", "") or "")
        return NumberModelConfig(
            recipe=self.recipe,
            # A path must still lead there when the program runs in another folder.
            base_model=str(Path(base).resolve()) if base and Path(base).is_dir() else base,
            base_task=self.info.task,
            processor=self.processor.config(),
            embedder=_described(self.embedder),
            placement=self.placement,
            gated=self.gate is not None,
            reach=0 if self.reach is None else self.reach.tokens,
            late_reach=0 if self.late_reach is None else self.late_reach.tokens,
            relations=0 if self.relations is None else self.relations.numbers,
            head=_described(self.head),
            objective=_described(self.objective),
            first_id=self.processor.first_id,
            embedding_dim=self.info.embedding_dim,
            hidden_dim=self.info.hidden_dim,
        )

    def push_to_hub(self, repo_id: str, *, backbone: bool = False, **options: Any) -> str:
        """Saves into a temporary folder and uploads it."""
        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder, backbone=backbone)
            return push_artefact(folder, repo_id, **options)


def _apart(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Our weights, and the backbone's by the names that it gives them."""
    ours = {key: value for key, value in state.items() if not key.startswith("backbone.")}
    return ours, {key.removeprefix("backbone."): value for key, value in state.items() if key not in ours}


def _described(part: Any) -> dict[str, Any] | None:
    if part is None:
        return None
    return {key: value for key, value in part.config.to_dict().items() if key != "version"}
