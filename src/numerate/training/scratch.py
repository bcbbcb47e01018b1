"""Models from scratch: a tokenizer trained on the training texts, and a backbone with random weights."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from numerate.registry import near_names
from numerate.training.run import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.training.run import Scratch, TokenizerPlan

__all__ = ["fetched", "new_backbone", "set_dropout", "train_tokenizer"]

_BERT_TOKENS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_BYTE_TOKENS = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "mask": "<mask>"}
_DROPOUTS = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout",
    "attention_dropout", "activation_dropout", "embedding_dropout", "mlp_dropout", "dropout_rate", "hidden_dropout",
)  # fmt: skip
MAX_ALPHABET = 1000
"""Maximum number of characters in a WordPiece vocabulary; rarer ones are unknown."""
MAX_LAYERS = 1000
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


def train_tokenizer(plan: TokenizerPlan, texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer trained on texts, deterministically, or the tokenizer of a checkpoint.

    The texts are iterated twice.

    Example:
        >>> from numerate.training.run import TokenizerPlan
        >>> words = train_tokenizer(TokenizerPlan(method="wordpiece", vocabulary=60), ["a cat sat on a mat"] * 3)
        >>> words.tokenize("A cat"), words.mask_token
        (['a', 'cat'], '[MASK]')
    """
    if plan.checkpoint is not None:
        return fetched("AutoTokenizer", plan.checkpoint)
    if plan.method == "records":
        from numerate.processing.record_tokenizer import record_tokenizer

        return record_tokenizer(texts, max_keys=plan.vocabulary)
    if plan.method == "words":
        from numerate.backbones.word_tokenizer import build_word_tokenizer

        return build_word_tokenizer(texts, plan.vocabulary)
    return _word_piece(plan, texts) if plan.method == "wordpiece" else _bytes(plan, texts)


def new_backbone(plan: Scratch, tokenizer: PreTrainedTokenizerFast, dropout: float | None = None) -> PreTrainedModel:
    """A backbone with random weights and the tokenizer's vocabulary size."""
    import transformers
    from transformers import AutoConfig

    from numerate.backbones import register_backbones
    from numerate.modeling.introspection import TASKS

    register_backbones()
    roles: tuple[str, ...] = ("pad", "bos", "eos", "cls", "sep", "mask")
    special = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id", None) for role in roles}
    special = {name: token for name, token in special.items() if token is not None}
    try:
        known = AutoConfig.for_model(plan.architecture).to_dict()
    except ValueError:
        names = sorted(transformers.CONFIG_MAPPING)
        raise RunError(f"unknown architecture {plan.architecture!r}: {near_names(plan.architecture, names)}") from None
    if unknown := [name for name in plan.sizes if name not in known]:
        hint = near_names(unknown[0], sorted(known))
        raise RunError(f"model.scratch.sizes: {plan.architecture} has no {unknown[0]!r}: {hint}")
    for name, size in plan.sizes.items():
        _check_size(name, size, known[name])
    try:
        config = AutoConfig.for_model(plan.architecture, **special | {"vocab_size": len(tokenizer)} | plan.sizes)
        if dropout is not None:
            set_dropout(config, dropout)
        return getattr(transformers, TASKS[plan.task]).from_config(config)
    except RunError:
        raise
    except Exception as error:  # architectures differ in what they raise
        if isinstance(error, MemoryError):
            raise
        first = " ".join(str(error).split())[:200]
        raise RunError(f"model.scratch: {plan.architecture} for {plan.task} cannot be built: {first}") from None


def _check_size(name: str, size: Any, usual: Any) -> None:
    """Refuses a size of the wrong type, or one that no model can be built with."""
    if not isinstance(usual, int) or isinstance(usual, bool):
        return
    least = 0 if name.endswith("_id") else 1
    if not isinstance(size, int) or isinstance(size, bool) or size < least:
        raise RunError(f"model.scratch.sizes.{name} must be a whole number from {least}, got {size!r:.60}")
    if name in _LAYERS and size > MAX_LAYERS:
        raise RunError(f"model.scratch.sizes.{name} must be at most {MAX_LAYERS:,}, got {size}")


def set_dropout(config: Any, dropout: float) -> None:
    """Sets every dropout option of a config.

    Example:
        >>> from transformers import GPT2Config
        >>> config = GPT2Config()
        >>> set_dropout(config, 0.25)
        >>> config.resid_pdrop, config.attn_pdrop
        (0.25, 0.25)
    """
    found = [name for name in _DROPOUTS if isinstance(getattr(config, name, None), (int, float))]
    if not found:
        raise RunError(f"model.dropout: {config.model_type} has no known dropout option")
    for name in found:
        setattr(config, name, dropout)


def _word_piece(plan: TokenizerPlan, texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A WordPiece tokenizer, trained deterministically.

    The library's trainer numbers continuation characters in the order of a hash table, and breaks ties by these
    numbers. So they are numbered in advance, as special tokens of a temporary tokenizer.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    normalizer: Any = normalizers.BertNormalizer(lowercase=plan.lowercase)
    cutter: Any = pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(normalizer.normalize_str(text))
    alphabet = sorted(counts, key=lambda char: (-counts[char], char))[:MAX_ALPHABET]
    within = [f"##{char}" for char in sorted(alphabet) if len(cutter.pre_tokenize_str(f"a{char}")) == 1]
    within = [token for token in within if not token.isspace() and not token[2:].isspace()]
    special = list(_BERT_TOKENS.values())

    def fresh(model: Any) -> Any:
        inner: Any = Tokenizer(model)
        inner.normalizer, inner.pre_tokenizer = normalizer, cutter
        return inner

    trainer: Any = trainers.WordPieceTrainer(
        vocab_size=plan.vocabulary, special_tokens=[*special, *within], initial_alphabet=alphabet,  # type: ignore[arg-type]
        limit_alphabet=MAX_ALPHABET, show_progress=False,
    )  # fmt: skip
    first = fresh(models.WordPiece(unk_token=_BERT_TOKENS["unk"]))  # type: ignore[call-arg]
    first.train_from_iterator(texts, trainer)
    inner = fresh(models.WordPiece(vocab=first.get_vocab(), unk_token=_BERT_TOKENS["unk"]))  # type: ignore[call-arg]
    inner.decoder = decoders.WordPiece()
    return _fast(inner, _BERT_TOKENS, "cls", "sep", ["input_ids", "token_type_ids", "attention_mask"])


def _bytes(plan: TokenizerPlan, texts: Iterable[str]) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    inner: Any = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(  # type: ignore[call-arg]
        vocab_size=plan.vocabulary, special_tokens=list(_BYTE_TOKENS.values()),  # type: ignore[arg-type]
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    inner.train_from_iterator(texts, trainer)
    inner.decoder = decoders.ByteLevel()
    return _fast(inner, _BYTE_TOKENS, "bos", "eos", ["input_ids", "attention_mask"])


def _fast(inner: Any, tokens: dict[str, str], first: str, last: str, fields: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer that puts each text between two special tokens."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    start, end = tokens[first], tokens[last]
    inner.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(token, inner.token_to_id(token)) for token in (start, end)],
    )  # fmt: skip
    roles = {f"{role}_token": token for role, token in tokens.items()}
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=fields, **roles)


def fetched(auto: str, name: str, **options: Any) -> Any:
    """Loads a checkpoint by an Auto class of transformers, without running code of the checkpoint."""
    import transformers

    from numerate.backbones import register_backbones

    register_backbones()
    try:
        return getattr(transformers, auto).from_pretrained(name, trust_remote_code=False, **options)
    except Exception as error:  # a missing folder, no network or a damaged file raise different classes
        raise RunError(f"checkpoint {name!r} cannot be loaded: {' '.join(str(error).split())[:300]}") from None
