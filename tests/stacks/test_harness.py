"""lm-evaluation-harness with numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, new_backbone, open_features, tokenizer_of

import numerate

lm_eval = pytest.importorskip("lm_eval")

from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from numerate.training.harness import NumberLM  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the harness's own warnings
TASK = """task: choice
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{q}}"
doc_to_choice: [" tall", " kg"]
doc_to_target: "{{a}}"
metric_list: [{metric: acc}]
"""


def model_of(recipe: str = "in-place") -> Any:
    return open_features(numerate.attach(new_backbone("gpt2"), tokenizer_of("gpt2"), recipe, fit=NUMBERS))


def ask(kind: str, *arguments: Any) -> list[Instance]:
    return [Instance(request_type=kind, doc={}, arguments=arguments, idx=0)]


def test_likelihood_reads_the_numbers_of_the_context() -> None:
    model = model_of()
    scores = {
        n: NumberLM(model).loglikelihood(ask("loglikelihood", f"The tower is {n}", " tall"))[0][0] for n in (3, 4)
    }
    tokenizer: Any = tokenizer_of("gpt2")
    batch = model.processor("The tower is 3", return_tensors=None)
    ids = batch["input_ids"] + tokenizer(" tall")["input_ids"]
    fields = {key: torch.as_tensor(value)[None] for key, value in batch.items() if key.startswith("number_")}
    fields["number_slots"] = torch.nn.functional.pad(fields["number_slots"], (0, len(ids) - len(batch["input_ids"])))
    fields.pop("number_scale", None)
    logits = model(torch.tensor([ids]), **fields).logits[0, :-1, : model.processor.first_id].log_softmax(-1)
    start = len(batch["input_ids"])
    expected = sum(logits[place - 1, ids[place]].item() for place in range(start, len(ids)))
    assert scores[3] == pytest.approx(expected, rel=1e-4) and scores[3] != scores[4]


def test_numbers_of_the_continuation_are_not_told() -> None:
    model = model_of()
    before = NumberLM(model).loglikelihood(ask("loglikelihood", "A cat weighs", " 4.5 kg"))[0][0]
    torch.nn.init.normal_(model.embedder.network[0].weight)
    assert NumberLM(model).loglikelihood(ask("loglikelihood", "A cat weighs", " 4.5 kg"))[0][0] == before


def test_generates_until() -> None:
    model = model_of()
    said = NumberLM(model).generate_until(
        ask("generate_until", "The tower is 324", {"until": ["\n"], "max_gen_toks": 4})
    )
    assert said == [model.generate("The tower is 324", 4).texts[0].split("\n")[0]]


def test_a_task_of_the_harness(tmp_path: Path) -> None:
    rows = [{"q": "The tower is 324 metres", "a": 0}, {"q": "A cat weighs 4.5", "a": 1}]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "choice.yaml").write_text(TASK.replace("DATA", str(tmp_path / "data.jsonl")))
    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(NumberLM(model_of()), tasks=["choice"], task_manager=tasks, bootstrap_iters=0)
    assert found["results"]["choice"]["acc,none"] in (0.0, 0.5, 1.0)


def test_a_notation_that_rewrites_is_refused() -> None:
    with pytest.raises(ValueError, match="notation 'marker' rewrites numbers"):
        NumberLM(model_of("xval"))
