"""Tiny models with random weights and tokenizers to match, one for each architecture; nothing is downloaded."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

if TYPE_CHECKING:
    from collections.abc import Callable


WIDTH = 32
CORPUS = [
    "The tower is tall and the river is wide; it was built of stone in winter.",
    "Revenue rose to a record while costs fell by a third, the company said on Monday.",
    "A cat sat on the mat, and nobody asked why it weighs so much or how far it runs.",
    "Prices: $1.50, 2.3%, 1,000 and -7; in 1999 about 45 kg cost 6e8 or 0.001.",
]
PLAIN = [
    "The tower is tall.",
    "A cat sat on the mat, and nobody asked why it was built of stone.",
    "Revenue rose while costs fell, the company said.",
]
"""Texts without numbers, of different lengths."""
NUMBERS = [
    "The tower is 324 metres tall, cost $1.5 million and weighs 10,100 tons.",
    "Revenue rose 3.2% to 45.7 in the third quarter.",
    "A cat weighs about 4.5 kg, and another 4.5 kg too; 12 cats ran -7.25 miles for 300 days and 0.001 nights.",
]
ASKING = ["The tower is [NUM] metres tall.", "It rose 3.2% to [NUM] and then to [NUM]."]


def word_piece() -> hf.PreTrainedTokenizerFast:
    """A tokenizer like BERT's."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    tokenizer.decoder = decoders.WordPiece()
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": token for name, token in names.items()},
    )


def byte_level(special: dict[str, str], template: str = "$A") -> hf.PreTrainedTokenizerFast:
    """A byte-level tokenizer with its special tokens first, in order, and a template that may name them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(dict.fromkeys(special.values())),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    used = [(token, tokenizer.token_to_id(token)) for token in special.values() if token in template]
    if used:
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=used)
    tokenizer.decoder = decoders.ByteLevel()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{name}_token": token for name, token in special.items()},
    )


ROBERTA = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
TOKENIZERS: dict[str, Callable[[], hf.PreTrainedTokenizerFast]] = {
    "bert": word_piece,
    "roberta": lambda: byte_level(ROBERTA, "<s> $A </s>"),
    "gpt2": lambda: byte_level({"eos": "<|endoftext|>", "pad": "<pad>"}),
    "llama": lambda: byte_level({"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}, "<s> $A"),
    "t5": lambda: byte_level({"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}, "$A </s>"),
}
SMALL = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
LLAMA = SMALL | {"num_key_value_heads": 1, "max_position_embeddings": 128}
BERT = SMALL | {"max_position_embeddings": 128}
MODERN = BERT | {"cls_token_id": 0, "sep_token_id": 2}
DISTIL = {"dim": WIDTH, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 128}
GPT2 = {"n_embd": WIDTH, "n_layer": 2, "n_head": 2, "n_positions": 128}
T5 = {"d_model": WIDTH, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}

# Name: class of the model and of its config, options, tokenizer, how much wider its vocabulary is than the tokenizer's.
KINDS: dict[str, tuple[str, str, dict[str, Any], str, int]] = {
    "bert": ("BertForMaskedLM", "BertConfig", BERT, "bert", 0),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", BERT, "roberta", 0),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", DISTIL, "bert", 0),
    "modernbert": (
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        MODERN,
        "roberta",
        0,
    ),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2, "gpt2", 0),
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA, "llama", 0),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA, "gpt2", 37),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", LLAMA | {"head_dim": 16}, "gpt2", 37),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5, "t5", 8),
    "classifier": ("BertForSequenceClassification", "BertConfig", BERT | {"num_labels": 3}, "bert", 0),
    "tagger": ("BertForTokenClassification", "BertConfig", BERT | {"num_labels": 3}, "bert", 0),
    "answerer": ("BertForQuestionAnswering", "BertConfig", BERT, "bert", 0),
    "encoder": ("BertModel", "BertConfig", BERT, "bert", 0),
    "gpt2-classifier": ("GPT2ForSequenceClassification", "GPT2Config", GPT2 | {"num_labels": 3}, "gpt2", 0),
    "llama-classifier": ("LlamaForSequenceClassification", "LlamaConfig", LLAMA | {"num_labels": 3}, "llama", 0),
}
MASKED = ("bert", "roberta", "distilbert", "modernbert")
CAUSAL = ("gpt2", "llama", "qwen2", "qwen3")
WITHOUT_LM = ("classifier", "tagger", "answerer", "encoder", "gpt2-classifier", "llama-classifier")


@functools.cache
def _shared_tokenizer(name: str) -> tuple[hf.PreTrainedTokenizerFast, int]:
    """A tokenizer and its first size."""
    tokenizer = TOKENIZERS[KINDS[name][3]]()
    return tokenizer, len(tokenizer)


def tokenizer_of(name: str) -> hf.PreTrainedTokenizerFast:
    """The tokenizer of one kind of backbone; shared, so leave it as it is."""
    tokenizer, size = _shared_tokenizer(name)
    assert len(tokenizer) == size, "a test has added tokens to the shared tokenizer: copy it first"
    # A tokenizer keeps the padding and truncation of its last call and saves them, so that another test's
    # `padding_side="left"` would be the default of every tokenizer that is loaded from there.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def new_backbone(name: str, **options: Any) -> Any:
    """A tiny backbone of one kind, in evaluation mode, with the same random weights each time."""
    model, config, sizes, words, wider = KINDS[name]
    tokenizer = TOKENIZERS[words]() if words not in _sizes else None
    if tokenizer is not None:
        ids = {f"{key}_token_id": getattr(tokenizer, f"{key}_token_id") for key in ("pad", "eos", "bos")}
        _sizes[words] = (len(tokenizer), ids)
    size, ids = _sizes[words]
    made = getattr(hf, config)(vocab_size=size + wider, attn_implementation="eager", **(ids | sizes | options))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        backbone = getattr(hf, model)(made)
        for weight in backbone.parameters():  # far from the zeros and ones that layers begin with
            weight.data.add_(torch.randn_like(weight) * 0.05)
    return backbone.eval()


_sizes: dict[str, tuple[int, dict[str, int | None]]] = {}


@functools.cache
def backbone_of(name: str) -> Any:
    """The backbone of one kind; shared, so leave it as it is."""
    return new_backbone(name)


def bare_batch(name: str, texts: list[str], side: str = "right") -> dict[str, torch.Tensor]:
    """What the bare tokenizer makes of texts."""
    return dict(tokenizer_of(name)(texts, padding=True, padding_side=side, return_tensors="pt"))


def number_batch(model: Any, name: str, texts: list[str], side: str = "right") -> dict[str, torch.Tensor]:
    """What an attached model's processor makes of texts; with labels, where the backbone cannot do without."""
    batch = dict(model.processor(texts, padding=True, padding_side=side, return_tensors="pt"))
    if name == "t5":
        batch |= {f"decoder_{key}": value for key, value in batch.items() if key.startswith("number_")}
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


@torch.no_grad()
def assert_same(one: Any, two: Any, name: str) -> None:
    """Two models make the same batches and give the same outputs, bit for bit; `name` is their kind of backbone."""
    batch = number_batch(one, name, NUMBERS + ASKING)
    again = number_batch(two, name, NUMBERS + ASKING)
    assert batch.keys() == again.keys() and all(torch.equal(value, again[key]) for key, value in batch.items())
    left, right = one.eval()(**batch), two.eval()(**batch)
    for key, value in left.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, right[key]), key
    assert (left.numbers is None) == (right.numbers is None)
    if left.numbers is not None:
        assert torch.equal(left.numbers.median(), right.numbers.median())


def open_features(model: Any) -> Any:
    """The model with random maps of `reach` and `late_reach` and an open gate, which are 0 before training."""
    torch.manual_seed(1)
    for part in (model.reach, model.late_reach, model.gate):
        for weight in () if part is None else part.parameters():
            torch.nn.init.normal_(weight, mean=float(part is model.gate), std=0.3)
    return model.eval()


def task_labels(name: str, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Labels for the backbones that are no language models."""
    rows, length = batch["input_ids"].shape
    if name.endswith("classifier"):
        return {"labels": torch.arange(rows) % 3}
    if name == "tagger":
        return {"labels": torch.arange(rows * length).reshape(rows, length) % 3}
    if name == "answerer":
        return {"start_positions": torch.ones(rows).long(), "end_positions": torch.full((rows,), 2)}
    return {}
