"""`numerate see`: what a model attends to, and where words and numbers lie in its layers, before and after training."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.apps.fill import load_model
from numerate.errors import BadInput
from numerate.modeling.introspection import base_of, evaluating
from numerate.reading import make_reader
from numerate.report.figure_style import save
from numerate.report.inner_maps import attention_map, state_maps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["InnerView", "Unit", "inner_view", "order_in_states", "see"]


@dataclass(frozen=True)
class Unit:
    """A word or a number of a text, with the tokens that stand for it.

    Attributes:
        label: As it is written.
        tokens: Places of its tokens.
        part: 0 for the first text, 1 for the second.
        value: The number's value; None for a word.
    """

    label: str
    tokens: tuple[int, ...]
    part: int
    value: float | None = None


@dataclass(frozen=True, eq=False)
class InnerView:
    """What a model does with one text, or a pair of texts.

    Attributes:
        units: Its N words and numbers. A number whose notation keeps its subwords beside a [NUM] is both.
        states: (layers + 1, N, D) hidden states, means over a unit's tokens; the first are the embeddings.
        attention: (layers, N, N) attention of a unit (mean over its tokens and over heads) to another (sum over its
            tokens); None if the backbone gives none.
    """

    units: list[Unit]
    states: Tensor
    attention: Tensor | None

    def between(self, layer: int = -2) -> tuple[Tensor, list[str], list[str]]:
        """Attention of the units of the first text to those of the second, in one layer: (R, C), and both labels.

        By default it is the last layer but one, as in LUNA's Fig. 3.
        """
        if self.attention is None:
            raise BadInput("this model gives no attention weights")
        if not -len(self.attention) <= layer < len(self.attention):
            layer = -1 if layer == -2 else layer  # a model of one layer
            if layer != -1:
                raise BadInput(f"the model has {len(self.attention)} layers, got layer {layer}")
        rows, columns = ([at for at, unit in enumerate(self.units) if unit.part == part] for part in (0, 1))
        if not rows or not columns:
            raise BadInput("attention between two texts needs a second text, such as a table")
        shown = self.attention[layer][rows][:, columns]
        return shown, [self.units[at].label for at in rows], [self.units[at].label for at in columns]


@torch.no_grad()
def inner_view(model: NumberModel, text: str, second: str | Sequence[str] | None = None) -> InnerView:
    """Runs a model on a text, or on a question and a table, and keeps hidden states and attention.

    Args:
        model: Any `NumberModel` that is no encoder-decoder.
        text: A text, such as a question or a statement.
        second: A second text; a list of texts is read segment by segment, as the cells of a table.
    """
    if model.info.is_encoder_decoder:
        raise BadInput("encoder-decoders have two stacks of layers: give an encoder or a causal model")
    longest = model.max_tokens or min(model.processor.tokenizer.model_max_length, _positions(model))
    options: dict[str, Any] = {"truncation": True, "max_length": longest, "return_tensors": "pt"}
    options["return_offsets_mapping"] = True
    if second is None or isinstance(second, str):
        pair = () if second is None else ([second],)
        batch = model.processor([text], *pair, **options)
    else:
        cells: Any = [list(second)]
        batch = model.processor([[text]], cells, is_split_into_words=True, **options)
    texts = [[text], [second] if isinstance(second, str) else list(second or ())]
    units = _units(model, batch, texts, split=not (second is None or isinstance(second, str)))
    if not units:
        raise BadInput(f"no word and no number to show in {text[:60]!r}: give a text")
    fields = {key: value.to(model.device) for key, value in batch.items() if key != "offset_mapping"}
    with evaluating(model), _eager(model) as weighed:
        output: Any = model(**fields, return_loss=False, output_hidden_states=True, output_attentions=weighed)
    pooled = torch.zeros(len(units), fields["input_ids"].shape[1], dtype=torch.float64)
    for row, unit in enumerate(units):
        pooled[row, list(unit.tokens)] = 1.0
    shares = pooled / pooled.sum(1, keepdim=True)
    states = torch.stack([shares @ layer[0].double().cpu() for layer in output.hidden_states])
    layers = [layer for layer in getattr(output, "attentions", None) or () if layer is not None]
    weights = [shares @ layer[0].double().mean(0).cpu() @ pooled.T for layer in layers]
    return InnerView(units, states, torch.stack(weights) if weights else None)


def order_in_states(view: InnerView, layer: int = -1) -> float | None:
    """Rank correlation between how far two numbers lie apart in a layer and how far apart their values are.

    Distances of values are |log10|a| - log10|b||; 1 means that a layer orders all pairs of numbers as their values do.
    Zeros are left out, and numbers that occur twice count once. None for fewer than four numbers.
    """
    found: dict[float, int] = {}
    for at, unit in enumerate(view.units):
        if unit.value is not None and unit.value != 0 and abs(unit.value) != float("inf"):
            found.setdefault(unit.value, at)
    if len(found) < 4:
        return None
    states, sizes = view.states[layer][list(found.values())], torch.tensor([abs(value) for value in found]).log10()
    pairs = torch.triu_indices(len(found), len(found), 1)
    near = torch.linalg.vector_norm(states[pairs[0]] - states[pairs[1]], dim=1)
    apart = (sizes[pairs[0]] - sizes[pairs[1]]).abs().double()
    ranks = torch.stack([_ranks(near), _ranks(apart)])
    return float(torch.corrcoef(ranks)[0, 1])


def see(
    text: str, models: Sequence[str], output: str | Path, *, second: str | Sequence[str] | None = None,
    layers: Sequence[int] = (), attention_layer: int = -2, method: str = "pca", recipe: str = "subwords",
    kind: str = "svg",
) -> list[dict[str, Any]]:  # fmt: skip
    """Draws the views of one or several models, such as one before and one after pre-training.

    Args:
        text: A text, such as a question or a statement.
        models: Folders or Hub names of saved models or of plain masked language models.
        output: Folder of the figures.
        second: A second text, or the cells of a table.
        layers: Layers to draw, 0 for the embeddings; by default the first, the middle and the last.
        attention_layer: Layer of the attention maps.
        method: `pca` or `tsne`.
        recipe: What is attached to plain models.
        kind: `svg`, `png` or `pdf`.

    Returns:
        For each model: `model`, `units`, `numbers`, `order` by layer (see `order_in_states`), `attention` (its file).
        The last entry has `states`, the file of the maps of all models.
    """
    folder, views, found = Path(output), {}, []
    for number, name in enumerate(models, 1):
        view = inner_view(load_model(name, recipe), text, second)
        label = Path(name).name if len({Path(each).name for each in models}) == len(models) else f"{number}: {name}"
        views[label] = view
        row: dict[str, Any] = {"model": name, "units": len(view.units)}
        row["numbers"] = sum(unit.value is not None for unit in view.units)
        row["order"] = {str(layer): order_in_states(view, layer) for layer in range(len(view.states))}
        if second is not None and view.attention is not None:
            figure = attention_map(*view.between(attention_layer), title=f"{label}, attention")
            row["attention"] = str(save(figure, folder / f"attention-{number}.{kind}"))
        found.append(row)
    panels = {name: _chosen(view, layers) for name, view in views.items()}
    labels = {name: [unit.label for unit in view.units] for name, view in views.items()}
    numbers = {name: [unit.value is not None for unit in view.units] for name, view in views.items()}
    figure = state_maps(panels, labels, numbers, method=method)
    found.append({"states": str(save(figure, folder / f"states.{kind}"))})
    return found


def _chosen(view: InnerView, layers: Sequence[int]) -> dict[str, Tensor]:
    last = len(view.states) - 1
    wanted = list(dict.fromkeys(layers)) or sorted({0, last // 2, last})
    for layer in wanted:
        if not 0 <= layer <= last:
            raise BadInput(f"--layers must lie between 0 and {last}, got {layer}")
    shown = {}
    for layer in wanted:
        order = order_in_states(view, layer)
        told = "" if order is None else f" (order of numbers {order:.2f})"
        shown[f"layer {layer}{told}"] = view.states[layer]
    return shown


def _units(model: NumberModel, batch: Any, texts: Sequence[Sequence[str]], split: bool) -> list[Unit]:
    """Words and numbers of a batch of one row, in reading order.

    A number is what owns a slot; a model without slots has the numbers that the standard reader finds. Tokens without a
    space between them are one word.
    """
    slots, parts, words = batch["number_slots"][0].tolist(), batch.sequence_ids(0), batch.word_ids(0)
    reader = None if model.processor.has_slots else make_reader("standard", cell=True)
    segments = [((part, at), one) for part, some in enumerate(texts) for at, one in enumerate(some)]
    numerals = {} if reader is None else {place: reader.find(one) for place, one in segments}
    found: dict[Any, list[int]] = {}
    named: dict[Any, tuple[str, float | None]] = {}
    word: Any = None
    key: Any
    end = -1
    for at, (slot, part) in enumerate(zip(slots, parts, strict=True)):
        if slot > 0:
            numeral = batch.numerals[0][slot - 1]
            word, key = None, ("number", slot)
            named[key] = ("[NUM]", None) if numeral is None else (numeral.text, numeral.value)
        elif part is None:
            word = None
            continue
        else:
            segment = (part, (words[at] or 0) if split else 0)
            text = str(texts[part][segment[1]])
            start, stop = batch["offset_mapping"][0][at].tolist()
            start += len(text[start:stop]) - len(text[start:stop].lstrip())
            if start == stop:
                continue
            own = next((one for one in numerals.get(segment, ()) if one.start <= start < one.end), None)
            if own is not None:
                word, key = None, ("read", *segment, own.start)
                named[key] = (own.text, own.value)
            else:
                touches = word is not None and word[1:3] == segment and start == end
                key = word = word if touches and text[start - 1 : start + 1].isalnum() else ("word", *segment, start)
                named[key], end = (text[key[3] : stop], None), stop
        found.setdefault(key, []).append(at)
    return [Unit(named[key][0], tuple(places), parts[places[0]] or 0, named[key][1]) for key, places in found.items()]


def _ranks(values: Tensor) -> Tensor:
    """Ranks (N,) float64; equal values share their mean rank."""
    _, index, counts = values.unique(return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    return (ends - (counts - 1) / 2)[index]


def _positions(model: NumberModel) -> int:
    return int(getattr(base_of(model.backbone).config, "max_position_embeddings", None) or 1 << 30)


@contextmanager
def _eager(model: NumberModel) -> Iterator[bool]:
    """Context in which the backbone gives attention weights, if it can: fused kernels do not keep them."""
    base: Any = base_of(model.backbone)
    before = getattr(base.config, "_attn_implementation", None)
    if not hasattr(base, "set_attn_implementation") or before is None:
        yield False
        return
    base.set_attn_implementation("eager")
    try:
        yield True
    finally:
        base.set_attn_implementation(before)
