"""TabBERT against loops over rows and fields, its losses by hand, saving, and bad input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.nn import functional
from transformers import AutoModel, AutoModelForMaskedLM

from numerate.backbones.tabbert import (
    MASK,
    SEP,
    SPECIAL_TOKENS,
    UNK,
    NumerateTabBertConfig,
    NumerateTabBertForMaskedLM,
    NumerateTabBertModel,
)

if TYPE_CHECKING:
    from pathlib import Path

SIZES: dict[str, Any] = {
    "field_sizes": [4, 2, 3], "field_size": 8, "num_hidden_layers": 2, "num_attention_heads": 4, "num_field_heads": 2,
    "max_position_embeddings": 6,
}  # fmt: skip


def new(**options: Any) -> NumerateTabBertForMaskedLM:
    torch.manual_seed(0)
    model = NumerateTabBertForMaskedLM(NumerateTabBertConfig(**SIZES | options))
    for weight in model.parameters():  # not the initial zeros and ones of biases and norms
        weight.data.add_(torch.randn_like(weight) * 0.1)
    return model.eval()


def ids_of(batch: int = 2, rows: int = 5) -> torch.Tensor:
    config = NumerateTabBertConfig(**SIZES)
    draws = torch.Generator().manual_seed(1)
    columns = [
        start + torch.randint(0, size, (batch, rows), generator=draws)
        for start, size in zip(config.offsets, config.field_sizes, strict=True)
    ]
    return torch.stack(columns, dim=-1)


def test_states_and_logits_against_loops_over_windows_rows_and_fields() -> None:
    model, ids = new(), ids_of()
    output: Any = model(input_ids=ids)
    assert output.rows.shape == (2, 5, 32) and output.last_hidden_state.shape == (2, 5, 3, 8)
    inner = model.tabbert
    for window in range(2):
        joined = []
        for row in range(5):
            tokens = torch.tensor([*ids[window, row].tolist(), SEP])
            mixed = inner.fields(inner.words(tokens)[None])[0]  # each row alone
            joined.append(inner.join(torch.cat(list(mixed))))
        states = inner.rows(inputs_embeds=torch.stack(joined)[None]).last_hidden_state[0]
        torch.testing.assert_close(output.rows[window], states, rtol=1e-4, atol=1e-5)
        for row in range(5):
            for field in range(3):
                cell = states[row, 8 * field : 8 * field + 8]
                torch.testing.assert_close(output.last_hidden_state[window, row, field], cell, rtol=1e-4, atol=1e-5)
                every = model.output(model.norm(functional.gelu(model.into(cell))))  # logits of all values
                start, size = model.config.offsets[field], model.config.field_sizes[field]
                own = model.field_logits(cell[None], field)[0]
                torch.testing.assert_close(own, every[start : start + size], rtol=1e-4, atol=1e-5)


def test_the_loss_is_the_sum_of_mean_losses_of_labelled_cells() -> None:
    model, ids = new(), ids_of()
    labels = torch.full_like(ids, -100)
    labels[0, 1, 0], labels[1, 4, 0], labels[1, 2, 2] = ids[0, 1, 0], ids[1, 4, 0], ids[1, 2, 2]
    labels[0, 0, 1] = UNK  # a value that is not in the vocabulary cannot be predicted
    output: Any = model(input_ids=ids, labels=labels)
    terms: list[list[float]] = [[], [], []]
    for window, row, field in (labels >= len(SPECIAL_TOKENS)).nonzero().tolist():
        logits = model.field_logits(output.last_hidden_state[window, row, field][None], field)[0].detach()
        terms[field].append(-float(logits.log_softmax(0)[labels[window, row, field] - model.config.offsets[field]]))
    means = [sum(some) / len(some) if some else 0.0 for some in terms]
    assert [len(some) for some in terms] == [2, 0, 1]
    assert output.field_losses.tolist() == pytest.approx(means, rel=1e-4)
    assert output.loss.item() == pytest.approx(sum(means), rel=1e-4)
    output.loss.backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())


def test_a_fresh_model_knows_nothing() -> None:
    torch.manual_seed(0)
    model = NumerateTabBertForMaskedLM(NumerateTabBertConfig(**SIZES)).eval()
    ids = ids_of(40)
    loss = model(input_ids=ids, labels=ids).loss.item()  # type: ignore[union-attr]
    assert loss == pytest.approx(math.log(4) + math.log(2) + math.log(3), abs=0.15)


def test_rows_of_padding_change_nothing_and_vectors_are_accepted() -> None:
    model, ids = new(), ids_of()
    padded = torch.cat([ids, torch.full((2, 1, 3), MASK)], dim=1)
    mask = torch.tensor([[1] * 5 + [0]] * 2)
    plain, longer = model.tabbert(input_ids=ids), model.tabbert(input_ids=padded, attention_mask=mask)
    torch.testing.assert_close(plain.last_hidden_state, longer.last_hidden_state[:, :5], rtol=1e-4, atol=1e-5)
    vectors = model.get_input_embeddings()(ids)
    assert torch.equal(model.tabbert(inputs_embeds=vectors).last_hidden_state, plain.last_hidden_state)


def test_auto_classes_load_what_was_saved(tmp_path: Path) -> None:
    model, ids = new(), ids_of()
    model.save_pretrained(tmp_path)
    again = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    assert isinstance(again, NumerateTabBertForMaskedLM)
    assert torch.equal(again(input_ids=ids, labels=ids).loss, model(input_ids=ids, labels=ids).loss)  # type: ignore[union-attr]
    assert isinstance(AutoModel.from_pretrained(tmp_path), NumerateTabBertModel)


def test_default_sizes_are_the_papers() -> None:
    config = NumerateTabBertConfig()
    assert (config.fields, config.field_size, config.row_size) == (11, 64, 768)
    assert (config.num_field_layers, config.num_field_heads, config.num_hidden_layers) == (1, 8, 12)
    assert config.offsets[:4] == [5, 2005, 2014, 2024] and config.vocab_size == 5 + sum(config.field_sizes)


def test_bad_sizes_and_inputs_are_one_line() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"field_sizes": []}, "field_sizes must be positive, one for each field, got []"),
        ({"field_sizes": [3, 0]}, "field_sizes must be positive"),
        ({"num_field_heads": 3}, "field_size must be a multiple of num_field_heads, got field_size=8"),
        ({"num_attention_heads": 5}, "row_size must be a multiple of num_attention_heads, got row_size=32"),
        ({"dropout": 1.0}, "dropout must be in"),
    ]
    for options, message in cases:
        with pytest.raises(ValueError) as caught:
            NumerateTabBertConfig(**SIZES | options)
        assert message in str(caught.value), options
    model = new()
    with pytest.raises(ValueError, match="a row must have 3 cells"):
        model(input_ids=ids_of()[..., :2])
    with pytest.raises(ValueError, match="at most 6 rows"):
        model(input_ids=ids_of(1, 7))
    with pytest.raises(ValueError, match="either input_ids or inputs_embeds"):
        model()
