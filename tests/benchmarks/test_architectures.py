"""The checks of every architecture on a share of the classes, and the page that they write."""

from __future__ import annotations

import re
from pathlib import Path

import architectures
import pytest
import tiny_architectures

PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"
# One class for each fault that once was silent or came late.
WORK = [
    "OPTForCausalLM",  # its forward calls a module inside of its base model; states narrower than its layers
    "M2M100ForConditionalGeneration",  # has no prepare_decoder_input_ids_from_labels
    "EncoderDecoderModel",  # its decoder is a language model
    "LongformerForSequenceClassification",  # needs ids beside embeddings
    "EsmForMaskedLM",  # skips a layer if it is given embeddings
    "T5EncoderModel",  # AutoModel would load a whole T5
    "LlavaForConditionalGeneration",  # is no encoder-decoder
    "RwkvForCausalLM",  # reads the padding
    "PegasusForConditionalGeneration",  # counts positions from the left, whatever the mask
    "NystromformerForMaskedLM",  # counts positions from 2
    "Mistral4ForSequenceClassification",  # a decoder without a language model that transformers lists
    "Gemma4ForCausalLM",  # looks token ids up by their embeddings
]
REFUSED = {
    "BertForMultipleChoice": "load the checkpoint with AutoModelForSequenceClassification and num_labels=1",
    "BertForPreTraining": "load the checkpoint with AutoModelForMaskedLM or AutoModel",
    "ElectraForPreTraining": "load the checkpoint with AutoModelForSequenceClassification or AutoModel",
    "XLNetLMHeadModel": "would see the numbers that it predicts",
    "ProphetNetForCausalLM": "reads no hidden state",
    "FSMTForConditionalGeneration": "decoder without get_input_embeddings",
    "FunnelForSequenceClassification": "fewer hidden states than tokens",
    "CpmAntForCausalLM": "cannot run on token embeddings",
    "IBertForMaskedLM": "no plain table of token embeddings",
    "T5ForQuestionAnswering": "attach an encoder",
    "WhisperForConditionalGeneration": "reads input_features, not token ids",
}


@pytest.mark.parametrize("name", WORK)
def test_class_passes_every_check(name: str) -> None:
    row = architectures.row_of(name)
    assert not row.refusal and not row.failures
    assert row.checks.keys() == {"attach", *architectures.CHECKS}


@pytest.mark.parametrize("name", REFUSED)
def test_class_is_refused_in_one_line(name: str) -> None:
    row = architectures.row_of(name)
    assert REFUSED[name] in row.refusal and name in row.refusal and not row.failures
    assert "\n" not in row.refusal and len(row.refusal) < 200


def test_the_page_has_every_class() -> None:
    text = PAGE.read_text("utf-8")
    listed = re.findall(r"^\| (\w+) \|", text, re.M)
    names = [name for name in listed if name in tiny_architectures.CLASSES]
    assert sorted(names) == sorted(tiny_architectures.CLASSES), "run python benchmarks/architectures.py"
    assert len(names) >= 80 and "**no**" not in text
    passed = text.partition("## Refused")[0]
    assert sum(name in names for name in re.findall(r"^\| (\w+) \|", passed, re.M)) >= 80


@pytest.mark.slow
def test_every_class_passes_or_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    architectures.main(["--page", str(tmp_path / "page.md"), "--json", str(tmp_path / "rows.json")])
    assert ", 0 with failures" in capsys.readouterr().out

    def rows(page: Path) -> list[str]:
        return [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]

    assert rows(tmp_path / "page.md") == rows(PAGE), "run python benchmarks/architectures.py"
