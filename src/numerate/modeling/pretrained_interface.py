"""`PretrainedInterface`: the methods of a Hugging Face model that other tools call on a `NumberModel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from torch import Tensor, nn

from numerate.modeling import saving
from numerate.modeling.introspection import base_of, run_device
from numerate.modeling.peft_adapters import train_with_adapter

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.modeling.artefact import NumberModelConfig
    from numerate.modeling.fingerprint import Fingerprint
    from numerate.modeling.number_calibration import NumberCalibration
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
    main_input_name = "input_ids"
    input_modalities = output_modalities = ("text",)
    _is_stateful = False
    model_tags: list[str] | None = None

    backbone_fingerprint: Fingerprint | None = None
    """The fingerprint of the backbone's weights when it was attached or loaded; None if it is not known."""
    has_own_backbone = False
    """Whether the backbone's weights were loaded from a saved model, and are in no other place."""
    max_tokens: int | None = None
    """The number of tokens at which training texts were cut, and at which `predict` cuts; None if it is not known."""
    calibration: NumberCalibration | None = None
    """What held-out texts say of its errors, saved with it; None without. See `numerate.apps.plausible.calibrate`."""

    def __init__(self) -> None:
        super().__init__()
        self._frozen: list[nn.Parameter] = []

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, backbone: PreTrainedModel | None = None,
        tokenizer: PreTrainedTokenizerFast | None = None, *, check_backbone: bool = True, **options: Any,
    ) -> Self:  # fmt: skip
        """Loads a model that `save_pretrained` or a Trainer wrote, with the PEFT adapters in the same folder.

        The model is in evaluation mode, as in transformers: call `train()` before a training loop of your own.

        Args:
            folder: A local folder, a Trainer's checkpoint, or a Hub id.
            backbone: The base model; by default the one that the saved config names: one in the same folder, a local
                folder, or a Hub id, which is not downloaded unless `folder` is a Hub id, too, or
                `local_files_only=False` is passed. Adapters in the folder are added to it.
            tokenizer: Its tokenizer; by default the one that is saved with the base model.
            check_backbone: Refuse a backbone with other weights than those that were saved. Quantised or offloaded
                weights are not compared, and a lower precision is not another backbone.
            **options: Passed to the base model's own `from_pretrained` (`device_map`, `dtype`, which is by default the
                one that the model was saved with).

        Raises:
            ArtefactError: The saved files cannot be trusted or do not fit the backbone.
        """
        made: Any = cls  # a NumberModel, which this module cannot import
        return saving.load_model(made, folder, backbone, tokenizer, check_backbone=check_backbone, **options)

    @property
    def config(self) -> Any:
        """The backbone's own config, as Hugging Face tools expect it."""
        return self.backbone.config

    @property
    def device(self) -> torch.device:
        """The device that our weights are on, or are loaded to from memory or disk when they are used."""
        device = self.own_rows.device
        return run_device(self) if device.type == "meta" else device

    @property
    def dtype(self) -> torch.dtype:
        """The backbone's type."""
        return base_of(self.backbone).dtype

    @property
    def name_or_path(self) -> str:
        """The backbone's Hub id or folder; empty for a model that was not loaded."""
        return str(getattr(base_of(self.backbone), "name_or_path", ""))

    @property
    def hf_device_map(self) -> dict[str, Any]:
        """The backbone's device map; as on any model, there is none without `device_map`."""
        inner: Any = base_of(self.backbone)
        return inner.hf_device_map

    @property
    def is_gradient_checkpointing(self) -> bool:
        """Whether the backbone recomputes activations in the backward pass."""
        return bool(base_of(self.backbone).is_gradient_checkpointing)

    @property
    def base_model(self) -> Any:
        """The backbone's own base model: its encoder or decoder, which knows nothing of numbers."""
        return base_of(self.backbone).base_model

    @property
    def generation_config(self) -> Any:
        """The backbone's generation config; None if it has none."""
        return getattr(base_of(self.backbone), "generation_config", None)

    @generation_config.setter
    def generation_config(self, config: Any) -> None:
        base_of(self.backbone).generation_config = config

    def describe(self) -> NumberModelConfig:
        """The config that `from_pretrained` builds the model from."""
        return saving.describe(self._model)

    def own_state(self) -> dict[str, Tensor]:
        """Our own weights, without the backbone's."""
        return saving.own_state(self.state_dict())

    def save_pretrained(
        self, folder: str | Path, *, backbone: bool | None = None, state_dict: dict[str, Tensor] | None = None,
        bits: int | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Writes config, our own weights (safetensors), PEFT's adapters and a model card into a folder.

        Args:
            folder: The folder; it is created if it does not exist.
            backbone: Whether the backbone and its tokenizer are saved, too, in a subfolder. By default a backbone is
                saved if its weights changed since `attach`, or if it was loaded from such a folder. False saves
                neither backbone nor adapters.
            state_dict: All weights of the model, if its own are spread over several processes.
            bits: 8 stores the weights, and by default the backbone's, too, as whole numbers of 8 bits with a scale for
                each row: a quarter of the size. They are floating numbers again when they are loaded.
            **options: Not used; Hugging Face tools pass some.
        """
        del options
        saving.save_model(self._model, folder, backbone=backbone, state_dict=state_dict, bits=bits)

    def push_to_hub(
        self, repo_id: str, *, backbone: bool | None = None, bits: int | None = None, **options: Any
    ) -> str:
        """Uploads what `save_pretrained` writes; options as `huggingface_hub.upload_folder` takes them."""
        return saving.push_model(self._model, repo_id, backbone=backbone, bits=bits, **options)

    def trainable_parameters(self) -> tuple[int, int]:
        """The number of parameters that are trained, and of all."""
        counts = [(p.numel(), p.requires_grad) for p in self.parameters()]
        return sum(n for n, trained in counts if trained), sum(n for n, _ in counts)

    def get_nb_trainable_parameters(self) -> tuple[int, int]:
        """PEFT's name of `trainable_parameters`."""
        return self.trainable_parameters()

    def num_parameters(self, only_trainable: bool = False, exclude_embeddings: bool = False) -> int:
        """The number of parameters of the backbone and of ours, as `PreTrainedModel.num_parameters` counts."""
        left_out = {id(weight) for weight in self.get_input_embeddings().parameters()} if exclude_embeddings else set()
        kept = (weight for weight in self.parameters() if id(weight) not in left_out)
        return sum(weight.numel() for weight in kept if weight.requires_grad or not only_trainable)

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
    def peft_config(self) -> dict[str, Any]:
        """The configs of adapters that PEFT has put into the whole model; there are none on an untouched model."""
        if "_peft_config" not in self.__dict__:
            raise AttributeError("peft_config: PEFT has put no adapter into the model")
        return self.__dict__["_peft_config"]

    @peft_config.setter
    def peft_config(self, configs: dict[str, Any]) -> None:
        # PEFT sets it after it has put its layers into the model and frozen everything else.
        self.__dict__["_peft_config"] = configs
        train_with_adapter(self._model, configs)

    @peft_config.deleter
    def peft_config(self) -> None:
        self.__dict__.pop("_peft_config", None)

    def get_input_embeddings(self) -> nn.Module:
        """The backbone's token embeddings."""
        return self.backbone.get_input_embeddings()

    def get_output_embeddings(self) -> nn.Module | None:
        """The backbone's output layer; None if it has none. The logits of our tokens come from `own_logits`."""
        return self.backbone.get_output_embeddings()

    def tie_weights(self, *arguments: Any, **options: Any) -> None:
        """Ties the backbone's weights again."""
        base_of(self.backbone).tie_weights(*arguments, **options)

    def resize_token_embeddings(self, *arguments: Any, **options: Any) -> nn.Module:
        """Refused: our tokens have the ids behind the backbone's."""
        raise ValueError("resize_token_embeddings: add tokens to backbone and tokenizer before numerate.attach")

    def enable_input_require_grads(self) -> None:
        """Makes the output of the token embeddings require gradients, for gradient checkpointing of frozen layers."""
        base_of(self.backbone).enable_input_require_grads()

    def disable_input_require_grads(self) -> None:
        """Removes what `enable_input_require_grads` set."""
        base_of(self.backbone).disable_input_require_grads()

    def can_generate(self) -> bool:
        """Whether the model is a language model that reads from left to right, so that `generate` works."""
        info = self._model.info
        return info.is_language_model and (info.is_causal or info.is_encoder_decoder)

    def prepare_inputs_for_generation(self, input_ids: Tensor, **fields: Any) -> dict[str, Any]:
        """The arguments of `forward` for a prompt: everything that is given. Our `generate` does not need it."""
        return {"input_ids": input_ids} | {key: value for key, value in fields.items() if value is not None}

    def add_model_tags(self, tags: list[str] | str) -> None:
        """Adds tags to `model_tags`, as on a Hugging Face model.

        Raises:
            ValueError: A trainer of TRL calls it, which would train without number fields and number loss.
        """
        tags = [tags] if isinstance(tags, str) else list(tags)
        if "trl" in tags and "numerate" not in tags:
            raise ValueError(
                f"TRL's trainer ({', '.join(tags)}) computes its loss without the numbers: "
                "use numerate.training.sft.NumberSFTTrainer, or NumberTrainer"
            )
        self.model_tags = [*dict.fromkeys([*(self.model_tags or ()), *tags])]

    def _refuse_offload(self) -> None:
        """Refuses accelerate's offload of the whole model: tied weights and our own would not be found."""
        hook: Any = self.__dict__.get("_hf_hook")
        if any(getattr(one, "offload", False) for one in (hook, *getattr(hook, "hooks", ()))):
            raise ValueError("our weights are offloaded: offload only the backbone, as in cpu_offload(model.backbone)")

    @property
    def _model(self) -> NumberModel:
        model: Any = self
        return model
