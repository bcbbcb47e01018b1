"""The interface of a Hugging Face tokenizer on a `NumberProcessor`: special tokens, saving, padding, chat templates."""

from __future__ import annotations

import json
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from transformers import SequenceFeatureExtractor

from numerate.config import ConfigError
from numerate.processing.encoding import NumberBatch, NumberCollator
from numerate.processing.saved_tokenizer import load_saved_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from transformers import PreTrainedTokenizerFast

    from numerate.notation.base import Notation
    from numerate.reading.base import Reader

__all__ = ["PROCESSOR_FILE", "PretrainedProcessor"]

PROCESSOR_FILE = "number_processor.json"
"""The config of a saved processor, beside the files of its tokenizer."""
NUMBER_FIELDS = ("number_slots", "number_bits", "number_chars", "number_precision", "number_given")
_MAX_BYTES = 4 << 20


def _shared(name: str) -> Any:
    """A property that reads and sets an attribute of the processor's tokenizer."""
    return property(
        lambda self: getattr(self.tokenizer, name),
        lambda self, value: setattr(self.tokenizer, name, value),
        doc=f"`{name}` of the tokenizer.",
    )


class PretrainedProcessor(SequenceFeatureExtractor):
    """What Hugging Face tools ask of a tokenizer; `NumberProcessor` is its subclass.

    It is a `SequenceFeatureExtractor` because `Trainer(processing_class=...)` pads with nothing but a tokenizer or one
    of these.

    Attributes:
        learns_without_labels: Whether the model of this processor has an objective that needs no labels. Collators of
            transformers then get `labels` of shape (B, 0) from `pad`: the stock Trainer computes no `eval_loss` for a
            batch without labels, and the model takes empty ones for none.
    """

    tokenizer: PreTrainedTokenizerFast
    reader: Reader
    notation: Notation
    own_tokens: tuple[str, ...]
    first_id: int
    learns_without_labels: bool = False

    pad_token, pad_token_id = _shared("pad_token"), _shared("pad_token_id")
    pad_token_type_id = _shared("pad_token_type_id")
    mask_token, mask_token_id = _shared("mask_token"), _shared("mask_token_id")
    eos_token, eos_token_id = _shared("eos_token"), _shared("eos_token_id")
    bos_token, bos_token_id = _shared("bos_token"), _shared("bos_token_id")
    cls_token, cls_token_id = _shared("cls_token"), _shared("cls_token_id")
    sep_token, sep_token_id = _shared("sep_token"), _shared("sep_token_id")
    unk_token, unk_token_id = _shared("unk_token"), _shared("unk_token_id")
    all_special_ids, all_special_tokens = _shared("all_special_ids"), _shared("all_special_tokens")
    padding_side, truncation_side = _shared("padding_side"), _shared("truncation_side")
    model_max_length, name_or_path = _shared("model_max_length"), _shared("name_or_path")
    chat_template, vocab_size = _shared("chat_template"), _shared("vocab_size")
    is_fast = True

    @abstractmethod
    def __call__(self, text: Any, *arguments: Any, **options: Any) -> NumberBatch:
        """Tokenizes one text or many."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The config without the tokenizer, as JSON types."""

    @classmethod
    @abstractmethod
    def from_config(cls, tokenizer: PreTrainedTokenizerFast, config: Any, first_id: int | None = None) -> Self:
        """Builds a processor from the output of `config`."""

    @property
    def model_input_names(self) -> list[str]:
        """The fields of a batch: the tokenizer's, then those of the numbers."""
        return [*self.tokenizer.model_input_names, *NUMBER_FIELDS]

    def __len__(self) -> int:
        """The number of token ids: the backbone's, then ours; the width of a language model's logits."""
        return self.first_id + len(self.own_tokens)

    def __repr__(self) -> str:
        reader, notation = type(self.reader).__name__, self.notation.config.kind
        tokenizer = f"{type(self.tokenizer).__name__} of {len(self.tokenizer)} tokens"
        own = f"{len(self.own_tokens)} tokens from id {self.first_id}"
        return f"{type(self).__name__}(reader={reader}, notation={notation!r}, tokenizer={tokenizer}, own={own})"

    # Saving and loading.

    def save_pretrained(self, save_directory: Any, **options: Any) -> list[str]:  # type: ignore[override]
        """Saves the tokenizer and `number_processor.json` into a folder; returns the paths of the files.

        The Trainer calls it for its `processing_class`. Options are those of the tokenizer's method.
        """
        folder = Path(save_directory)
        if folder.is_file():
            raise ConfigError(f"{folder} is a file; give a folder")
        folder.mkdir(parents=True, exist_ok=True)
        written = [str(path) for path in self.tokenizer.save_pretrained(str(folder), **options) or ()]
        saved = {"first_id": self.first_id, "processor": self.config()}
        (folder / PROCESSOR_FILE).write_text(json.dumps(saved, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        return [*written, str(folder / PROCESSOR_FILE)]

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, pretrained_model_name_or_path: str | Path, *, tokenizer: PreTrainedTokenizerFast | None = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Loads what `save_pretrained` wrote; no code from the folder is run.

        Args:
            pretrained_model_name_or_path: A local folder or a Hub id.
            tokenizer: The tokenizer; by default the one in the folder.
            **options: Passed to `AutoTokenizer.from_pretrained` (`revision`, `cache_dir`).

        Raises:
            ConfigError: There is no processor, or its config is wrong.
        """
        from transformers import AutoTokenizer
        from transformers.utils.hub import cached_file

        name = str(pretrained_model_name_or_path)
        try:
            path = cached_file(name, PROCESSOR_FILE, **options)
        except (OSError, ValueError):
            path = None
        if path is None:
            raise ConfigError(
                f"{name!r} has no {PROCESSOR_FILE}: give a folder of processor.save_pretrained; the processor of a "
                "saved model is numerate.from_pretrained(folder).processor"
            )
        try:
            if Path(path).stat().st_size > _MAX_BYTES:
                raise ValueError(f"larger than {_MAX_BYTES} bytes")
            saved = json.loads(Path(path).read_text("utf-8"))
            config, first_id = saved["processor"], saved["first_id"]
            if not isinstance(first_id, int):
                raise TypeError(f"first_id must be an integer, got {first_id!r}")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(f"{path}: {error}") from None
        if tokenizer is None:
            try:
                # The tokenizer's files lie beside the processor's, also in the Hub's cache once they are there.
                if not Path(name).is_dir():
                    AutoTokenizer.from_pretrained(name, **options | {"trust_remote_code": False})
                tokenizer = load_saved_tokenizer(Path(path).parent, **options | {"local_files_only": True})
            except Exception as error:  # a folder may be wrong in any way
                raise ConfigError(f"the tokenizer in {name!r} cannot be loaded: {error}") from None
        try:
            return cls.from_config(tokenizer, config, first_id=first_id)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{path}: {error}") from None

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Uploads what `save_pretrained` writes; options as `huggingface_hub.upload_folder` takes them."""
        from huggingface_hub import HfApi

        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            try:
                HfApi().create_repo(repo_id, exist_ok=True, private=options.pop("private", None))
                return str(HfApi().upload_folder(repo_id=repo_id, folder_path=folder, **options))
            except (OSError, ValueError, RuntimeError) as error:  # no network, no right to write, a server's answer
                raise ConfigError(f"{repo_id!r} cannot be uploaded: {' '.join(str(error).split())[:300]}") from None

    # Batches.

    def pad(  # type: ignore[override]
        self, encoded_inputs: Any, padding: bool | str = True, max_length: int | None = None,
        pad_to_multiple_of: int | None = None, return_tensors: str | None = None, **options: Any,
    ) -> NumberBatch:  # fmt: skip
        """Pads processed examples to a batch of tensors, like a tokenizer's `pad`.

        With `return_tensors`, as collators of transformers call it, the batch of a model that learns without labels
        gets empty `labels`; see `learns_without_labels`.
        """
        del options
        if return_tensors not in (None, "pt"):
            raise ValueError(f"return_tensors must be 'pt', got {return_tensors!r}")
        least = max_length or 0 if padding == "max_length" else 0
        collate = NumberCollator(self.tokenizer, pad_to_multiple_of, least=least)
        collate.empty_labels = return_tensors is not None and self.learns_without_labels
        rows: Any = encoded_inputs
        if not isinstance(rows, list | tuple):  # a dict of columns
            rows = [{key: column[row] for key, column in rows.items()} for row in range(len(rows["input_ids"]))]
        found = [row.found if isinstance(row, NumberBatch) else None for row in rows]
        known = None if None in found else [row for each in found for row in each or ()]
        return NumberBatch.of(collate(rows), known)

    def encode(self, text: str, **options: Any) -> list[int]:
        """The token ids of one text, without its number table."""
        return list(self(text, **options)["input_ids"])

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool = True, return_tensors: str | None = None,
        tokenizer_kwargs: dict[str, Any] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Writes messages with the tokenizer's chat template; a batch with its number table, or text.

        Args:
            conversation: Messages as `{"role": ..., "content": ...}`, or a list of such conversations.
            tokenize: Return a batch; otherwise the text.
            return_tensors: "pt" or "np" for tensors.
            tokenizer_kwargs: Options of the call on the text, such as `padding`.
            **options: Other options of the tokenizer's method, such as `add_generation_prompt`.
        """
        calls = ("padding", "truncation", "max_length", "padding_side")
        given = {name: options.pop(name) for name in calls if name in options} | (tokenizer_kwargs or {})
        if not options.pop("return_dict", True) or options.pop("return_assistant_tokens_mask", False):
            raise ValueError("apply_chat_template returns a batch with number fields: leave out return_dict=False "
                             "and return_assistant_tokens_mask")  # fmt: skip
        text: Any = self.tokenizer.apply_chat_template(conversation, tokenize=False, **options)
        if not tokenize:
            return text
        single = isinstance(text, str)
        batched = [text] if single and return_tensors is not None else text
        return self(batched, add_special_tokens=False, return_tensors=return_tensors, **given)

    def get_special_tokens_mask(self, *arguments: Any, **options: Any) -> list[int]:
        """Refused: only collators that mask tokens at random call it."""
        raise ValueError(
            "DataCollatorForLanguageModeling(mlm=True) masks parts of numbers: use NumberCollator(processor), because "
            "the model's objective masks words and numbers"
        )

    def convert_ids_to_tokens(self, ids: int | Sequence[int], **options: Any) -> Any:
        """The tokens of ids; `[NUM]` and the other tokens of ours included."""
        if isinstance(ids, int):
            own = ids - self.first_id
            return self.own_tokens[own] if own >= 0 else self.tokenizer.convert_ids_to_tokens(ids, **options)
        return [self.convert_ids_to_tokens(int(one), **options) for one in ids]

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        """The ids of tokens; those of ours included."""
        if isinstance(tokens, str):
            own = self.own_tokens.index(tokens) if tokens in self.own_tokens else -1
            return self.first_id + own if own >= 0 else self.tokenizer.convert_tokens_to_ids(tokens)
        return [self.convert_tokens_to_ids(token) for token in tokens]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of tokens; those of ours are written as they are called."""
        return self.tokenizer.convert_tokens_to_string(tokens)

    def get_vocab(self) -> dict[str, int]:
        """All tokens and their ids; those of ours included."""
        return self.tokenizer.get_vocab() | {token: self.first_id + own for own, token in enumerate(self.own_tokens)}
