"""`generate` as Hugging Face tools call it: token ids in, token ids out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.generation.loop import generate
from numerate.modeling.generation.state import GenerationOptions
from numerate.modeling.generation.stepping import check_can_generate, start_and_end_tokens
from numerate.processing.encoding import NumberBatch
from numerate.processing.number_table import PADDING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["generate_ids"]

_OWN = ("do_sample", "temperature", "top_k", "top_p", "num_beams", "length_penalty", "use_cache")
"""Options that transformers and our `generate` have under the same name."""
_NUMBERS = ("number", "significant_digits", "bounds")
_WITHOUT_EFFECT = frozenset(
    {"tokenizer", "pad_token_id", "token_type_ids", "num_return_sequences", "max_length", "return_dict_in_generate",
     "number_scale", "synced_gpus", "bos_token_id", "clean_up_tokenization_spaces", "cache_implementation"}
)  # fmt: skip
"""Options that are read elsewhere, or that cannot change the ids."""
_ANSWERS = frozenset({"labels", "sample_id", "number_wanted", "number_column"})
"""Fields of a batch that say what is learnt from it."""


@torch.no_grad()
def generate_ids(
    model: NumberModel, input_ids: Tensor, attention_mask: Tensor | None = None, max_new_tokens: int | None = None,
    *, generation_config: Any = None, stopping_criteria: Any = None, generator: torch.Generator | None = None,
    **options: Any,
) -> Tensor:  # fmt: skip
    """Continues prompts of token ids, as `PreTrainedModel.generate` does.

    Without number fields, the numbers of the prompts are read from their decoded text. In the result, numbers are
    written in the tokenizer's own tokens, so that `tokenizer.batch_decode` gives the text.

    Args:
        model: The model.
        input_ids: (B, T) ids of a processor's batch (with its number fields in `options`), or of the bare tokenizer.
        attention_mask: (B, T); 0 at padding.
        max_new_tokens: The largest number of new tokens.
        generation_config: Options; by default the model's for `max_new_tokens` and `max_length`.
        stopping_criteria: Called with all ids after each token, as by transformers; a text ends where they are true.
        generator: Random generator for sampling.
        **options: The options of `generate` and of transformers that both know, and `num_return_sequences`.

    Returns:
        (B, T + new) ids, padded at the end; for an encoder-decoder, the decoder's ids.
    """
    check_can_generate(model)
    if input_ids.dim() != 2 or input_ids.is_floating_point():
        shape = tuple(input_ids.shape)
        raise ValueError(f"input_ids must be token ids of shape (rows, tokens), got {input_ids.dtype} of shape {shape}")
    for key in [*options]:  # of a whole batch, as Seq2SeqTrainer passes it
        if key in _ANSWERS or key.startswith("decoder_number_"):
            del options[key]
    fields = {key: options.pop(key) for key in [*options] if key.startswith("number_") and key != "number_scale"}
    settings = _settings(model, generation_config, options)
    copies = settings.pop("num_return_sequences") or 1
    if max_new_tokens is None:
        max_new_tokens = _new_tokens(model, input_ids.shape[1], generation_config, options.get("max_length"))
    prompts = [
        one for row in _prompts(model, input_ids, attention_mask, fields) for one in [row] * copies
    ]  # a sampled text for each copy
    made = generate(model, prompts, max_new_tokens, generator=generator, **settings)  # type: ignore[arg-type]
    start, ends = start_and_end_tokens(model)
    tokenizer: Any = model.processor.tokenizer
    fillers = (options.get("pad_token_id"), tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    pad = next(token for token in fillers if token is not None)
    rows = []
    for ids, text in zip(made.ids, made.texts, strict=True):
        if any(token >= model.processor.first_id for token in ids):
            ended = ids[-1:] if ids[-1] in ends else []
            ids = [*tokenizer(text, add_special_tokens=False)["input_ids"], *ended]
        rows.append(ids if start is None else [start, *ids])
    longest = max(map(len, rows), default=0)
    padded = [ids + [pad] * (longest - len(ids)) for ids in rows]
    new = torch.tensor(padded, dtype=torch.int64, device=input_ids.device).reshape(len(rows), longest)
    result = new if start is not None else torch.cat([input_ids.repeat_interleave(copies, 0), new], dim=1)
    return _stopped(result, result.shape[1] - longest, stopping_criteria, pad) if stopping_criteria else result


def _settings(model: NumberModel, config: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of our `generate`, from a call's options before those of a generation config."""
    known = {*_OWN, *_NUMBERS}
    for name, value in options.items():
        is_off = not isinstance(value, torch.Tensor) and value in (None, False, [], 1.0)
        if name not in known and name not in _WITHOUT_EFFECT and not is_off:
            raise ValueError(f"generate: unknown option {name}={value!r:.60}; it takes {', '.join(sorted(known))}")
    if options.get("return_dict_in_generate"):
        raise ValueError("generate(input_ids=...) returns ids: for numbers and scores, pass prompts as texts")
    chosen = {name: getattr(config, name, None) for name in (*_OWN, "num_return_sequences")}
    chosen |= {name: options[name] for name in (*_OWN, *_NUMBERS, "num_return_sequences") if name in options}
    chosen["top_k"] = chosen["top_k"] or None
    if not chosen.get("do_sample"):
        chosen = {name: value for name, value in chosen.items() if name not in ("temperature", "top_k", "top_p")}
    defaults = {"num_return_sequences": None} | {
        name: field.default for name, field in GenerationOptions.__dataclass_fields__.items() if name in known
    }
    chosen = {name: defaults[name] if value is None else value for name, value in chosen.items()}
    if (chosen["num_return_sequences"] or 1) > 1 and not chosen["do_sample"]:
        raise ValueError(f"num_return_sequences={chosen['num_return_sequences']}: needs do_sample=True")
    return chosen


def _new_tokens(model: NumberModel, length: int, config: Any, total: int | None) -> int:
    before = 1 if model.info.is_encoder_decoder else length
    if total is not None:
        return max(0, int(total) - before)
    for settings in (config, model.generation_config):
        if (count := getattr(settings, "max_new_tokens", None)) is not None:
            return int(count)
        if (count := getattr(settings, "max_length", None)) is not None and count > before:
            return int(count) - before
    return 64


def _prompts(model: NumberModel, ids: Tensor, attention: Tensor | None, fields: Mapping[str, Any]) -> list[NumberBatch]:
    """One processed text for each row of ids, without padding."""
    processor, prompts = model.processor, []
    for index, row in enumerate(ids):
        real = torch.ones_like(row) if attention is None else attention[index]
        kept = row[real.bool()]
        if not len(kept):
            raise ValueError(f"input_ids row {index} has no tokens to continue")
        if fields:
            example = {key: value[index] for key, value in fields.items()}
            example["number_slots"] = example["number_slots"][real.bool()].tolist()
            example |= {"input_ids": kept.tolist(), "attention_mask": [1] * len(kept)}
            count = int((example["number_given"] != PADDING).sum())
            unknown: list[Any] = [None] * count
            prompts.append(NumberBatch.of(example, [unknown]))
            continue
        if bool((kept >= processor.first_id).any()):
            raise ValueError(
                f"input_ids row {index} has [NUM] without its number: pass the whole batch, "
                "model.generate(**processor(texts, return_tensors='pt')), or ids of model.processor.tokenizer"
            )
        text = processor.tokenizer.decode(kept.tolist(), clean_up_tokenization_spaces=False)
        prompts.append(processor(text, add_special_tokens=False))
    return prompts


def _stopped(ids: Tensor, length: int, criteria: Any, pad: int) -> Tensor:
    """Ids with padding after the token at which the criteria become true; the first `length` are the prompt."""
    ids, done, end = ids.clone(), torch.zeros(len(ids), dtype=torch.bool, device=ids.device), ids.shape[1]
    for after in range(length + 1, ids.shape[1] + 1):
        ids[done, after - 1] = pad
        done = done | torch.as_tensor(criteria(ids[:, :after], None), device=ids.device)
        if bool(done.all()):
            end = after
            break
    return ids[:, :end]
