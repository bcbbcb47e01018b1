"""`NumberTransformer`: an encoder with number vectors as the first module of a `SentenceTransformer`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor, nn

from numerate.apps.regression.network import load_backbone
from numerate.files import write_atomically
from numerate.modeling.attaching import attach, from_pretrained
from numerate.modeling.number_model import NumberModel
from numerate.modeling.tokenizer_checks import longest_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NumberTransformer"]

_FILE = "sentence_bert_config.json"
"""File of sentence-transformers for the options of its first module."""


class NumberTransformer(nn.Module):
    """Embeds the tokens of texts with the vectors of their numbers; a pooling module makes sentence embeddings of them.

    It has the methods that sentence-transformers calls on the first of its `modules`; sentence-transformers itself is
    not needed. Before training, the vectors of numbers are behind a shut gate, so that embeddings are the backbone's
    own.

    Args:
        model: A Hugging Face encoder, which is copied, the name or folder of one, or a `NumberModel` of an encoder.
        tokenizer: Its fast tokenizer, or the name or folder of one; by default that of the model.
        recipe: How numbers are read and embedded.
        max_seq_length: Longest text in tokens; by default as many as the backbone takes.

    **Shape**

    - Input: the fields of `preprocess(texts)`
    - Output: these fields and `token_embeddings` `(B, T, width)`

    Example:
        >>> from sentence_transformers import SentenceTransformer                            # doctest: +SKIP
        >>> from sentence_transformers.models import Pooling                                 # doctest: +SKIP
        >>> words = numerate.NumberTransformer("bert-base-uncased")                          # doctest: +SKIP
        >>> SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension())])   # doctest: +SKIP
    """

    save_in_root = True
    modalities = ("text",)

    def __init__(
        self, model: Any, tokenizer: Any = None, *, recipe: str = "in-place", max_seq_length: int | None = None
    ) -> None:
        super().__init__()
        if not isinstance(model, NumberModel):
            model = attach(*load_backbone(model, tokenizer), recipe, head=None, objective=None)
        if not model.info.task.endswith("encoder"):
            raise TypeError(
                f"NumberTransformer needs a bare encoder, got {model.info.task!r}: attach to its base_model"
            )
        self.model, self.processor = model, model.processor
        self.max_seq_length = max_seq_length or longest_text(model.config, self.tokenizer)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer below the processor."""
        return self.processor.tokenizer

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **options: Any) -> dict[str, Tensor]:
        """The batch of some texts or pairs of texts, as tensors; a prompt is written before each text."""
        del options
        texts = list(inputs)
        pairs = bool(texts) and not isinstance(texts[0], str)
        columns = [list(column) for column in zip(*texts, strict=True)] if pairs else [texts]
        if prompt:
            columns[0] = [prompt + text for text in columns[0]]
        cut = {} if self.max_seq_length is None else {"truncation": True, "max_length": self.max_seq_length}
        return dict(self.processor(*columns, padding=True, return_tensors="pt", **cut))

    def tokenize(self, texts: Sequence[Any], **options: Any) -> dict[str, Tensor]:
        """The same as `preprocess`, by its name before version 5.2 of sentence-transformers."""
        return self.preprocess(texts, **options)

    def forward(self, features: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Adds `token_embeddings` (B, T, width) to the fields of a batch."""
        del options
        names = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
        fields = {key: value for key, value in features.items() if key in names or key.startswith("number_")}
        output: Any = self.model(**fields, return_loss=False)
        return features | {"token_embeddings": output.last_hidden_state}

    def get_embedding_dimension(self) -> int:
        """Width of the token embeddings."""
        return self.model.info.hidden_dim

    get_word_embedding_dimension = get_embedding_dimension

    def save(self, output_path: str | Path, *arguments: Any, **options: Any) -> None:
        """Writes the model with its backbone and tokenizer (safetensors and JSON) into a folder."""
        del arguments, options
        self.model.save_pretrained(output_path, backbone=True)
        write_atomically(Path(output_path) / _FILE, json.dumps({"max_seq_length": self.max_seq_length}).encode())

    @classmethod
    def load(cls, model_name_or_path: str | Path, subfolder: str = "", **options: Any) -> Self:
        """Loads what `save` wrote."""
        del options
        folder = Path(model_name_or_path) / subfolder
        file = folder / _FILE
        longest = json.loads(file.read_text(encoding="utf-8")).get("max_seq_length") if file.is_file() else None
        return cls(from_pretrained(folder if folder.is_dir() else model_name_or_path), max_seq_length=longest)
