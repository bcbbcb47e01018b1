"""Placing the vectors of numbers, and finding the positions where numbers are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from numerate.embedders.values import LogValueEmbedder
from numerate.modeling.placement import PLACEMENTS, _distinct_rows, earlier_numbers, place, vectors_of
from numerate.processing.number_table import ASKED, GIVEN, PADDING, NumberTable
from numerate.processing.slot_positions import first_tokens, number_positions, table_of

if TYPE_CHECKING:
    from numerate.heads.pointer import PointerContext


def table(rows: list[list[float]], given: list[list[int]] | None = None) -> NumberTable:
    flat = NumberTable.of_values([value for row in rows for value in row])
    shape = (len(rows), len(rows[0]))
    marks = torch.tensor(given, dtype=torch.uint8) if given else torch.full(shape, GIVEN, dtype=torch.uint8)
    characters = flat.characters.reshape(*shape, flat.characters.shape[-1])
    return NumberTable(flat.bits.reshape(shape), characters, flat.precision.reshape(shape), marks)


class Counting(LogValueEmbedder):
    """Counts how many numbers it embeds."""

    costly = True

    def forward(self, numbers: NumberTable) -> torch.Tensor:
        self.count = len(numbers)
        return super().forward(numbers)


def test_equal_numbers_are_embedded_once() -> None:
    embedder = Counting.build(6).eval()
    numbers = table([[1.5, 2.0, 1.5], [2.0, 2.0, -0.0]])
    vectors = vectors_of(embedder, numbers)
    assert embedder.count == 3
    assert vectors.shape == (2, 3, 6)
    torch.testing.assert_close(vectors.reshape(6, 6), LogValueEmbedder.forward(embedder, numbers.flat()))
    assert torch.equal(vectors[0, 0], vectors[0, 2]) and torch.equal(vectors[0, 1], vectors[1, 0])


def test_a_cheap_embedder_computes_all() -> None:
    embedder = Counting.build(6).eval()
    embedder.costly = False
    numbers = table([[1.5, 2.0, 1.5], [2.0, 2.0, -0.0]])
    assert torch.equal(vectors_of(embedder, numbers).reshape(6, 6), LogValueEmbedder.forward(embedder, numbers.flat()))
    assert embedder.count == 6


def test_numbers_written_differently_are_different() -> None:
    embedder = Counting.build(6)
    one = table([[1.5, 1.5]])
    other = NumberTable(one.bits, one.characters, torch.tensor([[-1, -2]], dtype=torch.int16), one.given)
    vectors_of(embedder, other)
    assert embedder.count == 2


def test_no_numbers_give_no_vectors() -> None:
    embedder = Counting.build(6).to(torch.bfloat16)
    empty = NumberTable(*(torch.zeros(2, 0, dtype=kind) for kind in (torch.int64,)), torch.zeros(2, 0, 3).byte(),
                        torch.zeros(2, 0).short(), torch.zeros(2, 0).byte())  # fmt: skip
    vectors = vectors_of(embedder, empty)
    assert vectors.shape == (2, 0, 6) and vectors.dtype == torch.bfloat16


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_only_the_slots_of_given_numbers_change(placement: str) -> None:
    embeddings = torch.randn(2, 5, 4)
    slots = torch.tensor([[0, 1, 1, 2, 0], [2, 0, 1, 0, 3]])
    numbers = table([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[GIVEN, ASKED, PADDING], [GIVEN, GIVEN, ASKED]])
    vectors = torch.randn(2, 3, 1 if placement == "scale" else 4)
    placed = place(embeddings, slots, numbers, vectors, placement)
    changed = {(0, 1): 0, (0, 2): 0, (1, 0): 1, (1, 2): 0}
    for row in range(2):
        for token in range(5):
            old = embeddings[row, token]
            if (row, token) not in changed:
                assert torch.equal(placed[row, token], old)
                continue
            vector = vectors[row, changed[row, token]]
            new = {"replace": vector.expand(4), "add": old + vector, "scale": old * vector}[placement]
            assert torch.equal(placed[row, token], new)


def test_an_unknown_placement_is_refused() -> None:
    with pytest.raises(ValueError, match="placement must be one of"):
        place(torch.zeros(1, 1, 2), torch.ones(1, 1).long(), table([[1.0]]), torch.zeros(1, 1, 2), "beside")


def test_where_numbers_are_predicted() -> None:
    slots = torch.tensor([[0, 1, 1, 2], [3, 0, 1, 0]])
    assert first_tokens(slots, 3).tolist() == [[1, 3, 4], [2, 4, 0]]
    wanted = torch.ones(2, 3, dtype=torch.bool)
    rows, tokens, numbers = number_positions(slots, wanted)
    assert list(zip(rows.tolist(), tokens.tolist(), numbers.tolist(), strict=True)) == [
        (0, 1, 0), (0, 3, 1), (1, 2, 0), (1, 0, 2),
    ]  # fmt: skip


def test_causal_models_predict_from_the_token_before() -> None:
    slots = torch.tensor([[0, 1, 1, 2], [3, 0, 1, 0], [0, 0, 1, 0]])
    wanted, real = torch.ones(3, 3, dtype=torch.bool), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]])
    _, tokens, _ = number_positions(slots, wanted, before=real)
    assert tokens.tolist() == [0, 2, 1], "a number without a real token before it is left out"
    _, tokens, _ = number_positions(slots, wanted, before=real, stay=True)
    assert tokens.tolist() == [0, 2, 1, 0, 2], "or predicted at its own token"


def test_a_table_needs_only_its_bits() -> None:
    assert table_of({"number_bits": None}) is None and table_of({}) is None
    bare = table_of({"number_bits": torch.zeros(2, 3, dtype=torch.int64)})
    assert bare is not None and bare.characters.shape == (2, 3, 0) and (bare.given == GIVEN).all()


def test_equal_rows_are_found_once() -> None:
    keys = torch.randint(-3, 3, (500, 4), generator=torch.Generator().manual_seed(0)) * (2**61)
    first, inverse = _distinct_rows(keys)
    assert torch.equal(keys[first][inverse], keys) and len(first) == len(keys.unique(dim=0))
    assert first.tolist() == [inverse.tolist().index(group) for group in range(len(first))]


def test_rows_with_equal_hashes_are_not_confused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerate.modeling.placement._ODD", 0)
    keys = torch.tensor([[1, 2], [3, 4], [1, 2]])
    first, inverse = _distinct_rows(keys)
    assert torch.equal(keys[first][inverse], keys)


NAN, SLOTS = float("nan"), torch.tensor([[0, -1, 1, 0, 2, 0, 3, 4], [1, 2, 2, 0, 3, 0, 0, 0]])
"""Slots of two texts with four numbers: one has two tokens, one is NaN, one is asked for, one has no token."""


def pointed(delay: int | None, **options: torch.Tensor) -> tuple[torch.Tensor, PointerContext]:
    numbers = table([[7.0, NAN, 3.0, 5.0], [1.0, 2.0, 3.0, 4.0]], [[GIVEN] * 4, [GIVEN, GIVEN, ASKED, GIVEN]])
    fields = {"number_slots": SLOTS, "number_bits": numbers.bits, "number_given": numbers.given}
    hidden = torch.arange(2 * 8 * 3).reshape(2, 8, 3).float()
    where = number_positions(SLOTS, torch.ones(2, 4, dtype=torch.bool), stay=True, **options)
    earlier = earlier_numbers(hidden, fields, where, delay=delay, **options)
    assert earlier is not None
    assert [*zip(earlier.rows.tolist(), earlier.numbers.tolist(), strict=True)] == [
        *((0, number) for number in range(4)),
        *((1, number) for number in range(3)),
    ]
    return hidden, earlier


def seen_by(earlier: PointerContext) -> list[list[int]]:
    return [row.nonzero()[:, 0].tolist() for row in earlier.visible]


def test_earlier_numbers_of_a_causal_model() -> None:
    hidden, earlier = pointed(0, before=torch.ones_like(SLOTS))
    assert seen_by(earlier) == [[], [0], [0], [0, 2], [], [0], [0, 1]]
    assert torch.equal(earlier.read_states[0, [0, 2, 3]], hidden[0, [2, 6, 7]])
    assert torch.equal(earlier.query_states[0, [0, 2, 3]], hidden[0, [0, 5, 6]])
    assert torch.equal(earlier.read_states[1, :2], hidden[1, [0, 2]])
    assert torch.equal(earlier.query_states[1, :2], hidden[1, [0, 0]]), "no token is before the first"


def test_earlier_numbers_of_a_decoder_are_read_a_token_later() -> None:
    hidden, earlier = pointed(1)
    assert seen_by(earlier) == [[], [0], [0], [0, 2], [], [0], [0, 1]]
    assert torch.equal(earlier.read_states[0, [0, 2, 3]], hidden[0, [3, 7, 7]])
    assert torch.equal(earlier.query_states[0, [0, 2, 3]], hidden[0, [2, 6, 7]])


def test_earlier_numbers_of_a_bidirectional_model_are_all_others() -> None:
    hidden, earlier = pointed(None)
    assert seen_by(earlier) == [[2, 3], [0, 2, 3], [0, 3], [0, 2], [1], [0], [0, 1]]
    assert torch.equal(earlier.read_states[0, [0, 2, 3]], hidden[0, [2, 6, 7]])


def test_without_a_number_table_there_are_no_earlier_numbers() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    assert earlier_numbers(torch.zeros(1, 4, 3), {"number_slots": None}, (nothing, nothing, nothing)) is None
