"""Settings of a trial that starts from a pretrained model, or from one of several others by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import ConfigError
from numerate.files import content_hash
from numerate.modeling.recipe import current_name
from numerate.registry import near_names
from numerate_lab.engine.task import TrialConfig
from numerate_lab.tasks.finetuning.starting_points import BARE

if TYPE_CHECKING:
    from numerate_lab.engine.task import Figures

__all__ = ["StartedTrial"]


@dataclass(frozen=True, kw_only=True)
class StartedTrial(TrialConfig):
    """Which model a trial starts from, and how it reads numbers; tasks add fields of their own.

    Attributes:
        model: Folder or Hub name of the pretrained model.
        starts: Other models to start from, name -> folder; rows name them behind an `@`. A name may be a whole row
            (`addback-dice@distilled`), where several rows have a start of one name. A folder is that of a plain model,
            of a saved `NumberModel`, or of probes, whose embedder is then put on `model`.
        start: The one of `starts` that this trial starts from; None for `model`. A row sets it.
        recipe: Recipe of `attach`; `subwords` is the bare model. A row sets it.
        parts: More options of `attach`. A row sets them.
        compiled: Whether the model's layers are compiled for training on an accelerator; results differ by rounding.
        recorded: Whether steps are recorded as CUDA graphs there, where the encoding allows it; likewise.
    """

    paths: ClassVar[tuple[str, ...]] = ("source", "model")
    unchecked: ClassVar[tuple[str, ...]] = ("compiled", "recorded")
    source: str
    model: str
    starts: dict[str, str] = field(default_factory=dict)
    start: str | None = None
    recipe: str = BARE
    parts: dict[str, Any] = field(default_factory=dict)
    compiled: bool = False
    recorded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "recipe", current_name(self.recipe))
        if self.start is not None and self._start_key() is None:
            known = near_names(self.start, list(self.starts)) if self.starts else "there are none"
            raise ConfigError(f"unknown start {self.start!r}: {known}; give --option 'starts={{{self.start}: FOLDER}}'")

    def _start_key(self) -> str | None:
        """The name of this trial's start in `starts`: that of the whole row comes first."""
        return next((key for key in (self.encoding, self.start) if key in self.starts), None)

    @property
    def folder(self) -> str:
        """Folder or name of the model that the trial starts from."""
        key = None if self.start is None else self._start_key()
        return self.model if key is None else self.starts[key]

    @property
    def needs(self) -> tuple[str, ...]:
        """The folder of the start, if there is one."""
        return () if self.start is None else (self.folder,)

    def settings(self) -> Figures:
        """The settings as results keep them; of `starts`, only the one that is used, by its content."""
        found = super().settings()
        key = None if self.start is None else self._start_key()
        found["starts"] = {} if key is None else {key: Path(self.starts[key]).name}
        if key is not None and Path(self.starts[key]).exists():
            found["contents"] = found.get("contents", {}) | {"start": content_hash(self.starts[key])}
        return found
