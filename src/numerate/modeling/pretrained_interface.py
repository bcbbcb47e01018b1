"""`PretrainedInterface`: the methods of a Hugging Face model that other tools call on a `NumberModel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from torch import Tensor, nn

from numerate.modeling import saving

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.modeling.artefact import NumberModelConfig
    from numerate.modeling.number_model import NumberModel

__all__ = ["PretrainedInterface"]


class PretrainedInterface(nn.Module):
    """Loading, saving, freezing and counting weights, as Hugging Face users know them; `NumberModel` is its subclass.

    Attributes:
        backbone: The Hugging Face model.
        own_rows: Embeddings of our own tokens.
    """

    accepts_loss_kwargs = False
    """Tells the HF Trainer that our losses are means over the batch."""
    backbone: PreTrainedModel
    own_rows: nn.Parameter

    def __init__(self) -> None:
        super().__init__()
        self._frozen: list[nn.Parameter] = []

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, backbone: PreTrainedModel | None = None,
        tokenizer: PreTrainedTokenizerFast | None = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Loads a model that `save_pretrained` wrote.

        Args:
            folder: A local folder or a Hub id.
            backbone: The base model; by default the one that the saved config names: one in the same folder, a local
                folder, or a Hub id, which is not downloaded unless `folder` is a Hub id, too, or
                `local_files_only=False` is passed.
            tokenizer: Its tokenizer; by default the one that is saved with the base model.
            **options: Passed to the base model's own `from_pretrained` (`dtype`, `device_map`).

        Raises:
            ArtefactError: The saved files cannot be trusted or do not fit the backbone.
        """
        made: Any = cls  # a NumberModel, which this module cannot import
        return saving.load_model(made, folder, backbone, tokenizer, **options)

    @property
    def config(self) -> Any:
        """The backbone's own config, as Hugging Face tools expect it."""
        return self.backbone.config

    @property
    def device(self) -> torch.device:
        """The device of the backbone's embeddings."""
        return self.own_rows.device

    def describe(self) -> NumberModelConfig:
        """The config that `from_pretrained` builds the model from."""
        return saving.describe(self._model)

    def own_state(self) -> dict[str, Tensor]:
        """Our own weights, without the backbone's."""
        return saving.own_state(self.state_dict())

    def save_pretrained(
        self, folder: str | Path, *, backbone: bool = False, state_dict: dict[str, Tensor] | None = None, **options: Any
    ) -> None:
        """Writes the config, our own weights (safetensors) and a model card into a folder.

        With `backbone`, the backbone and its tokenizer are saved, too, in a subfolder: for a backbone that was trained.
        `state_dict` has all weights of the model, if its own are spread over several processes. Other options, which
        Hugging Face tools pass, are not used.
        """
        del options
        saving.save_model(self._model, folder, backbone=backbone, state_dict=state_dict)

    def push_to_hub(self, repo_id: str, *, backbone: bool = False, **options: Any) -> str:
        """Uploads what `save_pretrained` writes; options as `huggingface_hub.upload_folder` takes them."""
        return saving.push_model(self._model, repo_id, backbone=backbone, **options)

    def trainable_parameters(self) -> tuple[int, int]:
        """The number of parameters that are trained, and of all."""
        counts = [(p.numel(), p.requires_grad) for p in self.parameters()]
        return sum(n for n, trained in counts if trained), sum(n for n, _ in counts)

    def print_trainable_parameters(self) -> None:
        """Prints how many parameters are trained."""
        trained, total = self.trainable_parameters()
        print(f"trainable params: {trained:,} || all params: {total:,} || trainable%: {100 * trained / total:.4f}")

    def freeze_backbone(self, frozen: bool = True) -> Self:
        """Freezes the backbone, or makes those of its weights trainable again that were before."""
        if frozen:
            self._frozen += [weight for weight in self.backbone.parameters() if weight.requires_grad]
        for weight in self._frozen:
            weight.requires_grad_(not frozen)
        self._frozen = self._frozen if frozen else []
        return self

    def gradient_checkpointing_enable(self, *arguments: Any, **options: Any) -> None:
        """Calls the backbone's method of the same name."""
        self.backbone.gradient_checkpointing_enable(*arguments, **options)

    def gradient_checkpointing_disable(self) -> None:
        """Calls the backbone's method of the same name."""
        self.backbone.gradient_checkpointing_disable()

    @property
    def _model(self) -> NumberModel:
        model: Any = self
        return model
