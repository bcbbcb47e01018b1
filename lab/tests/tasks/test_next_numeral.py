"""Next numeral: perplexities against sums by hand, batches, training, and encodings."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch

from numerate.processing.number_table import NumberTable
from numerate_lab.papers.numerals2018.tables import grid_for
from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral
from numerate_lab.tasks.next_numeral.numeral_trial import NextNumeralTrial


def task_of(name: str, **more: object) -> NextNumeral:
    trial = grid_for("clinical", [name], "tiny").of(name)
    return NextNumeral(dataclasses.replace(trial, most_texts=12, **more))


def test_perplexities_are_sums_of_log_probabilities() -> None:
    gaps = {}
    for name in ("softmax", "h-softmax", "mog"):
        task = task_of(name)
        model = task.build()
        found = task.score("dev", task.ask(model, "dev", size=5))["perplexity"]
        words, numerals = [], []
        for text in task.examples("dev"):
            batch = dict(model.processor([text], return_tensors="pt", truncation=True, max_length=1024))
            with torch.no_grad():
                logs = model.eval()(**batch, return_loss=False).logits[0].double().log_softmax(-1)
            distribution, numbers = model.numbers_of(batch)
            terms = iter(distribution.log_prob(numbers).tolist())
            for place, token in enumerate(batch["input_ids"][0].tolist()[1:]):
                term = float(logs[place, token])
                if batch["number_slots"][0, place + 1]:
                    numerals.append(term + next(terms))
                else:
                    words.append(term)
        for part, terms in (("words", words), ("numerals", numerals), ("all", words + numerals)):
            assert found[part]["pp"] == pytest.approx(math.exp(-sum(terms) / len(terms)), rel=1e-4), (name, part)
            assert found[part]["tokens"] == len(terms), (name, part)
        assert found["words"]["app"] > found["words"]["pp"]
        assert (found["numerals"]["app"] > found["numerals"]["pp"]) == (name != "mog")
        gaps[name] = [math.log(row["app"]) - math.log(row["pp"]) for row in found.values()]
    assert gaps["softmax"] == pytest.approx(gaps["h-softmax"], rel=1e-6), "flat and hierarchical models alike"


def test_batches_contain_every_text_once() -> None:
    task = task_of("h-softmax")
    batches = task.batches(task.build(), "train", 5).batches
    assert sum(len(batch["input_ids"]) for batch in batches) == len(task.examples("train"))
    lengths = [int(batch["attention_mask"].sum(1).max()) for batch in batches]
    assert lengths == sorted(lengths)


def test_training_lowers_the_dev_loss_and_keeps_the_best_weights() -> None:
    task = task_of("mog", batch=4, epochs=2, rate=1e-2)
    model = task.build()
    done = task.train(model, use_cpu=True)
    assert done["epochs"] == 2 and done["dev_losses"][1] < done["dev_losses"][0]
    assert task.error({"training": done}) == done["dev_loss"]
    with torch.no_grad():
        dev = [model.eval()(**batch, return_loss=True).loss for batch in task.batches(model, "dev", 4).batches]
    assert float(torch.stack(dev).mean()) == pytest.approx(done["dev_loss"], rel=1e-5)


def test_vocabulary_sizes_are_filled_in() -> None:
    task = task_of("combination")
    model = task.build()
    assert model.head is not None
    sizes = [member.get("size") for member in model.head.config.to_dict()["members"]]  # type: ignore[attr-defined]
    assert sizes[0] == len(task.corpus.vocabulary.numerals)
    assert isinstance(task.corpus.train_numbers(), NumberTable)
    with pytest.raises(ValueError, match="backbone is 'rnn', expected one of 'lstm', 'transformer'"):
        dataclasses.replace(task.config, backbone="rnn")


def test_names_of_trials() -> None:
    trial = NextNumeralTrial(source="clinical", encoding="mog", epochs=8)
    assert [trial.final(1e-3, 0).name, trial.final(1e-3, 2).name] == ["mog", "mog-seed2"]
    tried = trial.tried(3e-3, 0.25)
    assert (tried.name, tried.epochs, tried.rate) == ("mog-rate0.003-share0.25", 2, 3e-3)


def test_encodings_are_embedders_with_heads_or_heads_alone() -> None:
    assert NextNumeral.encoding("mog") == {"head": {"kind": "mog"}}
    assert NextNumeral.encoding("h-softmax") == {"head": {"kind": "h-softmax", "size": None}}
    assert NextNumeral.encoding("float+mog") == {"head": {"kind": "mog"}, "embedder": {"kind": "float"}}
    for name in ("p10", "xval"):
        with pytest.raises(ValueError, match=f"needs vectors of unscaled numbers and a head, got '{name}'"):
            NextNumeral.encoding(name)
    task = task_of("mog", embedder={"kind": "float"})
    assert math.isfinite(task.score("dev", task.ask(task.build(), "dev"))["perplexity"]["numerals"]["app"])


def test_a_vocabulary_with_copies_shares_out_its_unknown_mass_alone() -> None:
    head = {"kind": "combination", "copies": True, "members": [{"kind": "h-softmax", "size": None}]}
    task = task_of("softmax", head=head)
    model = task.build()
    columns = task.ask(model, "dev", size=5)
    assert not columns["unknown"].any() and columns["unknown_types"][1] == 1
    member = model.head.members[0]  # type: ignore[union-attr]
    types, gaps = int(member.oov_types), []
    distribution: Any = None
    for text in task.examples("dev"):
        batch = dict(model.processor([text], return_tensors="pt", truncation=True, max_length=1024))
        with torch.no_grad():
            distribution, numbers = model.eval().numbers_of(batch)
        closed, *copied = distribution.members
        masses = distribution.log_weights[:, 0].exp() * closed.log_prob(numbers).exp()
        shared = torch.where(member.is_oov(numbers), masses / types, masses)
        for place, part in enumerate(copied, 1):
            shared = shared + distribution.log_weights[:, place].exp() * part.log_prob(numbers).exp()
        gaps += (-shared.log() + distribution.log_prob(numbers)).tolist()
    found = task.score("dev", columns)["perplexity"]["numerals"]
    assert max(gaps) > 1 and types > 1
    assert math.log(found["app"] / found["pp"]) == pytest.approx(sum(gaps) / len(gaps), rel=1e-4)
    # The best candidate is no numeral that only the unknown entry makes probable.
    known = distribution.without_unknown()
    unknown = NumberTable.of_values([987654321.0] * len(known))
    assert bool(member.is_oov(unknown).all()) and bool((distribution.log_prob(unknown) > -50).all())
    assert bool((known.log_prob(unknown) == -torch.inf).all())


def test_predictions_say_which_text_they_are_of() -> None:
    task = task_of("mog")
    model = task.build()
    columns = task.ask(model, "dev", size=5)
    counts = [len(model.processor([text]).numerals[0]) for text in task.examples("dev")]
    assert [int((columns["text"] == row).sum()) for row in range(len(counts))] == counts
