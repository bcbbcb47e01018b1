"""`torch.export` and ONNX of a `NumberModel`: tensors of a batch in, logits and parameters of number distributions out.

`model(**batch)` predicts only the numbers that are asked for, and how many there are depends on the data, which an
exported graph does not support. Here every number of the table is predicted, so that all shapes follow from those of
the inputs; `ExportableModel.distribution` picks the asked ones.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from numerate.modeling.asking import asked_ids
from numerate.modeling.inputs import late_change, number_vectors
from numerate.modeling.introspection import base_of, run_with_embeddings
from numerate.modeling.outputs import Predicted, context_of, number_states, with_own_logits
from numerate.processing.number_table import ASKED
from numerate.processing.slot_positions import NumberPlaces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel

__all__ = ["ExportableModel"]

_NUMBER_INPUTS = ("number_slots", "number_bits", "number_chars", "number_precision", "number_given")


class ExportableModel(nn.Module):
    """A `NumberModel` as a module of tensors, for `torch.export` and ONNX; encoders and decoders, no encoder-decoders.

    Args:
        model: The model; it is put into evaluation mode.

    Attributes:
        input_names: The batch's fields that the module takes, in order.
        output_names: `logits` (`last_hidden_state` of a bare encoder, `start_logits` and `end_logits` of a question
            answerer), then the tensors of the head's distribution, each (B, M, ...) for the M numbers of the table.

    Example:
        >>> part = ExportableModel(model)                                             # doctest: +SKIP
        >>> part.to_onnx("model.onnx", batch)                                         # doctest: +SKIP
        >>> outputs = onnxruntime.InferenceSession("model.onnx").run(None, part.arrays(batch))  # doctest: +SKIP
        >>> part.distribution(outputs, batch).median()                                # doctest: +SKIP
    """

    def __init__(self, model: NumberModel) -> None:
        super().__init__()
        if model.info.is_encoder_decoder or model.info.needs_ids:
            kind = type(base_of(model.backbone)).__name__
            raise ValueError(f"{kind} cannot be exported: only encoders, and decoders that are language models")
        self.model = model.eval()
        takes = inspect.signature(base_of(model.backbone).forward).parameters
        words = (name for name in model.processor.tokenizer.model_input_names if name in takes)
        self.input_names = (*words, *_NUMBER_INPUTS)
        outputs = {"encoder": ("last_hidden_state",), "question-answering": ("start_logits", "end_logits")}
        self._main: tuple[str, ...] = outputs.get(model.info.task, ("logits",))
        self.output_names = (*self._main, *(name for name, _ in self._template()))

    def _template(self) -> list[tuple[str, Tensor]]:
        """Names and tensors of the head's distribution for one number; empty without a head."""
        head = self.model.head
        if head is None:
            return []
        batch = self.model.processor(["1 [NUM]"], return_tensors="pt").to(self.model.device)
        with torch.no_grad():
            return tensors_of(self._run({name: batch[name] for name in self.input_names})[1])

    def forward(self, *fields: Tensor) -> tuple[Tensor, ...]:
        """Takes the fields of a batch in the order of `input_names`, returns tensors in that of `output_names`."""
        batch = dict(zip(self.input_names, fields, strict=True))
        output, numbers = self._run(batch)
        shape = batch["number_bits"].shape
        parts = [] if numbers is None else [tensor.unflatten(0, shape) for _, tensor in tensors_of(numbers)]
        return (*(output[name] for name in self._main), *parts)

    def _run(self, batch: Mapping[str, Tensor]) -> tuple[Any, NumberDistribution | None]:
        """The backbone's output, and the distributions of all B · M numbers of the table."""
        model = self.model
        fields: dict[str, Any] = {**batch, "input_ids": asked_ids(model, batch)}
        places = NumberPlaces.of(fields)
        if places is None:
            raise ValueError(f"the batch needs number_bits and number_slots, it has {', '.join(batch)}")
        vectors = number_vectors(model, fields, places)
        wanted = Predicted(model, fields, places)
        embeddings = model.embed(model.backbone.get_input_embeddings(), fields, vectors)
        model.last_state.change = late_change(model, vectors)
        passed = {key: fields[key] for key in self.input_names if key in ("attention_mask", "token_type_ids")}
        positions = model.info.position_ids(fields["input_ids"], fields.get("attention_mask"))
        passed |= {} if positions is None else {"position_ids": positions}
        output, hidden = run_with_embeddings(
            model.backbone, model.info, model.last_state, model._plain(fields), embeddings, return_dict=True, **passed
        )
        if hidden is None:
            raise ValueError(f"{type(model.backbone).__name__} does not return its last hidden state")
        items = with_own_logits(model, dict(output), hidden)
        if model.head is None:
            return items, None
        _, tokens = wanted.at(places, places.table.given == ASKED, stay=True)
        count, numbers = tokens.shape
        rows = torch.arange(count, device=tokens.device)[:, None].expand(-1, numbers).flatten()
        columns = torch.arange(numbers, device=tokens.device).expand(count, -1).flatten()
        where = rows, tokens.clamp(0, hidden.shape[1] - 1).flatten(), columns
        states = number_states(model, hidden, wanted, where)
        return items, model.head(states, *context_of(model, hidden, wanted, where))

    def export(self, batch: Mapping[str, Tensor], dynamic: bool = True) -> torch.export.ExportedProgram:
        """The graph as `torch.export` gives it.

        Args:
            batch: A processor's batch with at least two texts, two numbers in a row, and two characters in a number
                (sizes of 1 are compiled in).
            dynamic: Whether batch size, length, count of numbers and of their characters may change.
        """
        shapes = self._dynamic() if dynamic else None
        with torch.no_grad():
            return torch.export.export(self, tuple(self._tensors(batch)), dynamic_shapes=shapes)

    def to_onnx(self, path: str | Path, batch: Mapping[str, Tensor], dynamic: bool = True, **options: Any) -> None:
        """Writes an ONNX file; needs the packages onnx and onnxscript.

        Args:
            path: The file.
            batch: An example, as `export` takes it.
            dynamic: As in `export`.
            **options: Options of `torch.onnx.export`.
        """
        program = self.export(batch, dynamic)
        names = {"input_names": list(self.input_names), "output_names": list(self.output_names)}
        defaults: dict[str, Any] = {"dynamo": True, "verbose": False, "external_data": False}
        torch.onnx.export(program, (), str(path), **names, **defaults | options)

    def arrays(self, batch: Mapping[str, Tensor]) -> dict[str, Any]:
        """The inputs of an ONNX session: the batch's fields as numpy arrays."""
        return {name: tensor.cpu().numpy() for name, tensor in zip(self.input_names, self._tensors(batch), strict=True)}

    def distribution(self, outputs: Sequence[Any], batch: Mapping[str, Tensor]) -> NumberDistribution:
        """The distributions of the asked numbers in reading order, as `model(**batch).numbers`.

        Args:
            outputs: The outputs of the exported model, as tensors or numpy arrays.
            batch: The batch that they are computed from.
        """
        given, slots = batch["number_given"].cpu(), batch["number_slots"].cpu()
        if self.model.head is None:
            raise ValueError("this model has no number head: attach one with head=..., for example head='mixture'")
        first = NumberPlaces.of({**batch, "number_slots": slots, "number_bits": batch["number_bits"].cpu()})
        asked = given == ASKED
        asked = asked if first is None else asked & (first.slot < slots.shape[1])
        parts = [torch.as_tensor(part)[asked] for part in outputs[len(self._main) :]]
        one = self.model.processor(["1 [NUM]"], return_tensors="pt").to(self.model.device)
        with torch.no_grad():
            template = self._run({name: one[name] for name in self.input_names})[1]
        return _with_tensors(template, iter(parts))

    def _tensors(self, batch: Mapping[str, Tensor]) -> list[Tensor]:
        missing = [name for name in self.input_names if batch.get(name) is None]
        if missing:
            raise ValueError(f"the batch has no {missing[0]}: it has {', '.join(batch)}")
        return [batch[name].to(self.model.device) for name in self.input_names]

    def _dynamic(self) -> Any:
        rows, numbers, characters = map(torch.export.Dim, ("rows", "numbers", "characters"))
        config = base_of(self.model.backbone).config.get_text_config()
        longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        after = self.model.info.positions_after
        length = torch.export.Dim("length", max=longest if after is None or longest is None else longest - after - 1)
        shapes: dict[str, dict[int, Any]] = {}
        for name in self.input_names:
            inner = name in _NUMBER_INPUTS and name != "number_slots"
            shapes[name] = {0: rows, 1: numbers if inner else length}
        shapes["number_chars"][2] = characters
        return (tuple(shapes.values()),)


def tensors_of(distribution: Any, prefix: str = "") -> list[tuple[str, Tensor]]:
    """Names and tensors of a distribution's fields; those of distributions inside it have their name before theirs."""
    found: list[tuple[str, Tensor]] = []
    for field in dataclasses.fields(distribution):
        value = getattr(distribution, field.name)
        if isinstance(value, Tensor):
            found.append((prefix + field.name, value))
        elif dataclasses.is_dataclass(value):
            found += tensors_of(value, f"{prefix}{field.name}.")
    return found


def _with_tensors(distribution: Any, tensors: Any) -> Any:
    """A copy of a distribution with other tensors, in the order of `tensors_of`."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(distribution):
        value = getattr(distribution, field.name)
        if isinstance(value, Tensor):
            changed[field.name] = next(tensors)
        elif dataclasses.is_dataclass(value):
            changed[field.name] = _with_tensors(value, tensors)
    return dataclasses.replace(distribution, **changed)
