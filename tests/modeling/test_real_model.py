"""Every recipe on a real model: 20 training steps, then saved and loaded with the same predictions."""

from __future__ import annotations

import gzip
import itertools
import json
from typing import TYPE_CHECKING

import pytest
import torch

import numerate

if TYPE_CHECKING:
    from pathlib import Path

MODEL, DATA = "models/minilm-mlm", "data/units/train.jsonl.gz"
STEPS, ROWS = 20, 4


@pytest.fixture(scope="module")
def sentences(shared: Path) -> list[str]:
    """Short sentences with numbers in them."""
    with gzip.open(shared / DATA, "rt", encoding="utf-8") as lines:
        texts = (json.loads(line)["comment"] for line in lines)
        short = (text for text in texts if 40 < len(text) < 110 and sum(map(str.isdigit, text)) > 2)
        return list(itertools.islice(short, ROWS))


@pytest.mark.slow
@pytest.mark.shared(MODEL, DATA)
@pytest.mark.parametrize(
    ("recipe", "frozen"), [*((name, True) for name in numerate.recipe_names()), ("in-place", False)]
)
def test_trains_saves_loads_and_predicts_the_same(
    recipe: str, frozen: bool, shared: Path, sentences: list[str], tmp_path: Path
) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    torch.manual_seed(0)
    options = {"attn_implementation": "eager", "dtype": torch.float32}  # stored in half precision
    # Without dropout: the seed that repeats the masks would repeat it, too, and the model would learn it.
    options |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    backbone = AutoModelForMaskedLM.from_pretrained(shared / MODEL, **options)
    tokenizer = AutoTokenizer.from_pretrained(shared / MODEL)
    before = {key: value.clone() for key, value in backbone.state_dict().items()}
    objective = {"kind": "masked", "number_ratio": 0.5}
    model = numerate.attach(backbone, tokenizer, recipe, objective=objective, freeze=frozen)
    batch = model.processor(sentences, padding=True, truncation=True, max_length=32, return_tensors="pt")

    def loss() -> torch.Tensor:
        torch.manual_seed(7)  # the same masks each time
        return model(**batch, return_loss=True).loss

    model.eval()
    with torch.no_grad():
        start = loss().item()
    model.train()
    rate = 3e-3 if frozen else 1e-4
    optimiser = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=rate)
    for _ in range(STEPS):
        step = loss()
        assert step.isfinite()
        step.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    model.eval()
    with torch.no_grad():
        end = loss().item()
    print(f"\n{recipe}: {start:.3f} -> {end:.3f}")
    if frozen and model.embedder is None and not (batch["input_ids"] >= model.processor.first_id).any():
        # `none` and `subwords` cannot learn: the texts have no token of ours, and the backbone is frozen.
        assert end == pytest.approx(start, rel=1e-5)
    else:
        assert end < start

    model.save_pretrained(tmp_path, backbone=not frozen)
    size = sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file())
    print(f"{recipe}: {size / 1e6:.2f} MB")
    again = numerate.from_pretrained(tmp_path, **options).eval()
    with torch.no_grad():
        one, two = model(**batch), again(**batch)
    assert torch.equal(one.logits, two.logits)
    if model.head is not None:
        asked = ["The tower is [NUM] metres tall.", "He weighs [NUM] kg and she 60 kg."]
        assert torch.equal(model.predict(asked).median(), again.predict(asked).median())
    after = numerate.detach(model).state_dict()
    assert not frozen or all(torch.equal(after[key], value) for key, value in before.items()), (
        "a frozen backbone does not change"
    )


@pytest.mark.shared(MODEL)
@pytest.mark.parametrize("backbone", [None, True])
def test_adapters_of_a_real_model_answer_the_same_after_loading(
    backbone: bool | None, shared: Path, tmp_path: Path
) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    torch.manual_seed(0)
    words = AutoTokenizer.from_pretrained(shared / MODEL)
    lora = LoraConfig(r=4, target_modules=["query", "value"], init_lora_weights=False)
    peft = get_peft_model(AutoModelForMaskedLM.from_pretrained(shared / MODEL, dtype=torch.float32), lora)
    with torch.no_grad():  # adapters as after a short training: they change the logits a little
        for name, weight in peft.named_parameters():
            weight.mul_(0.1 if "lora_B" in name else 1.0)
    model = numerate.attach(peft, words, "in-place").eval()
    model.save_pretrained(tmp_path, backbone=backbone)
    batch = model.processor("The capital of France is [MASK].", return_tensors="pt")
    place = batch["input_ids"][0].tolist().index(words.mask_token_id)
    with torch.no_grad():
        one, two = (each.eval()(**batch).logits[0, place] for each in (model, numerate.from_pretrained(tmp_path)))
    assert torch.equal(one, two) and words.decode([int(one.argmax())]).strip() == "paris"
