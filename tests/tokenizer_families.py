"""Tokenizers of the families in use, made here from a few sentences."""

from __future__ import annotations

from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

SENTENCES = [
    "The tower is 330 metres tall and weighs about 10,100 tonnes.",
    "Revenue rose 3.2% to $1.5 billion in 2023, from $1.4 billion (2022).",
    "It was -5 °C at 7:30; the range is 10-12 kg, or 1/2 of it.",
    "the of and in to a was is for as on with by at from that it (x) [y] {z} , . ; : ! ?",
]
FAMILIES = ("wordpiece", "bpe", "bpe-prefix", "unigram", "metaspace-first", "llama", "record")
REVERSIBLE = ("bpe", "unigram", "metaspace-first", "llama", "record")
"""Those whose bare `decode` gives most texts back."""


@cache
def make_tokenizer(family: str) -> PreTrainedTokenizerFast:
    if family == "record":
        from numerate.processing.record_tokenizer import record_tokenizer

        return record_tokenizer(["{'m': 1, 'data': [[1, 2], [3]]}"], add_end=True, model_max_length=40)
    return {
        "wordpiece": _wordpiece,
        "bpe": lambda: _byte_level(False),
        "bpe-prefix": lambda: _byte_level(True),
        "unigram": _unigram,
        "metaspace-first": lambda: _metaspace(legacy=False),
        "llama": lambda: _metaspace(legacy=True),
    }[family]()


def _wordpiece() -> PreTrainedTokenizerFast:
    characters = sorted(set("".join(SENTENCES).lower()) - {" "} | set("0123456789"))
    words = sorted({word.strip(".,;:()[]{}") for line in SENTENCES for word in line.lower().split()} - {""})
    pieces = dict.fromkeys(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{char}" for char in characters), *words]
    )
    inner = Tokenizer(models.WordPiece({piece: index for index, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.normalizer, inner.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    inner.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=32, model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def _byte_level(prefix: bool) -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    inner.decoder, inner.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=sorted(alphabet), special_tokens=["<s>", "</s>"], show_progress=False
    )
    inner.train_from_iterator(SENTENCES, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="</s>", padding_side="left",
        truncation_side="left", model_max_length=48,
    )  # fmt: skip


def _unigram() -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.Unigram())
    inner.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("\n", " ")])
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    inner.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    inner.train_from_iterator(SENTENCES, trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )


def _metaspace(legacy: bool) -> PreTrainedTokenizerFast:
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    specials = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trained.train_from_iterator(
        SENTENCES, trainers.BpeTrainer(vocab_size=450, special_tokens=specials, show_progress=False)
    )
    import json

    state = json.loads(trained.to_str())["model"]
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in state["merges"]]
    inner = Tokenizer(
        models.BPE(vocab=state["vocab"], merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    if legacy:
        inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    inner.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    inner.add_special_tokens(["<unk>", "<s>", "</s>"])
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B:1", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>",
        model_max_length=1000,
    )  # fmt: skip
