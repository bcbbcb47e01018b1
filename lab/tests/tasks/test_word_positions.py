"""Word positions: the same words for every encoding, and never parts of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tiny_models import backbone_of, tokenizer_of

from numerate.modeling.attaching import attach
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, sentence_of_row
from numerate_lab.tasks.masked_prediction.word_positions import NO_NUMBER, Encoded, WordPositions, encode

if TYPE_CHECKING:
    import numpy as np

CATS = "A cat weighs 4.5 kg and sat; 12 cats ran."
SENTENCES = [
    sentence_of_row(
        {"comment": "The tower is 324 tall metres wide, built in 1999 .", "offset": 13, "length": 3, "number": 324}
    ),
    sentence_of_row({"comment": CATS, "offset": 13, "length": 3, "number": 4.5, "unit": "kg"}),
    NumberSentence("plain", "The river is wide."),
    # The same text again, with another number annotated.
    sentence_of_row(
        {
            "comment": CATS,
            "offset": 29,
            "length": 2,
            "number": 12,
            "unit": "cats",
        }
    ),
]
RECIPES = ["subwords", "none", "num", "luna", "in-place", "value-prefix", "p10", "numbert"]


def words(positions: WordPositions, chosen: np.ndarray) -> list[str]:
    rows = zip(positions.sentence[chosen], positions.start[chosen], positions.end[chosen], strict=True)
    return [SENTENCES[row].text[start:end] for row, start, end in rows]


def encoded(name: str, recipe: str, numbers: str) -> tuple[WordPositions, Encoded]:
    model = attach(backbone_of(name), tokenizer_of(name), recipe)
    positions = WordPositions.of(SENTENCES, tokenizer_of(name))
    return positions, encode(model.processor, SENTENCES, positions, numbers)


def test_positions_are_no_numbers_and_no_full_stops() -> None:
    for name in ("bert", "roberta"):
        positions = WordPositions.of(SENTENCES, tokenizer_of(name))
        found = words(positions, positions.strata()["all"])
        assert not any(word == "." or not word.strip() for word in found), name
        assert not any(char.isdigit() for word in found for char in word), name
        assert "".join(words(positions, positions.sentence == 0)) == "Thetoweristallmetreswide,builtin", name
    assert len(WordPositions.of([], tokenizer_of("bert"))) == 0


def test_labels_of_words_around_the_number() -> None:
    positions = WordPositions.of(SENTENCES, tokenizer_of("bert"))
    first, second, last = (positions.sentence == row for row in (0, 1, 3))
    assert words(positions, first & positions.labels["unit"]) == ["tall"]  # without a unit, the word after the number
    assert "".join(words(positions, second & positions.labels["unit"])) == "kg"
    assert "".join(words(positions, last & positions.labels["unit"])).startswith("cats")
    assert positions.labels["next"].sum() == 3
    assert words(positions, first & positions.labels["next"]) == ["tall"]
    assert (positions.labels["other"] == ~positions.labels["unit"]).all()
    assert set(positions.magnitude[first]) == {2} and set(positions.magnitude[second]) == {0}
    assert set(positions.magnitude[positions.sentence == 2]) == {NO_NUMBER}
    assert not positions.labels["near"][positions.sentence == 2].any()
    assert positions.strata()["1e2"].sum() == first.sum()


def test_scale_words_outside_the_annotation_are_units() -> None:
    text = "Cats cost 5 million of 30 percent, 7% and 2 million."
    rows = [{"comment": text, "offset": text.index(n), "length": len(n), "number": n} for n in ("5", "30", "7")]
    sentences, tokenizer = [sentence_of_row(row) for row in rows], tokenizer_of("bert")
    positions = WordPositions.of(sentences, tokenizer)

    def joined(row: int, label: str) -> str:
        chosen = (positions.sentence == row) & positions.strata()[label]
        return "".join(text[a:b] for a, b in zip(positions.start[chosen], positions.end[chosen], strict=True))

    assert [joined(row, "unit") for row in range(3)] == ["million", "percent", "%"]
    assert [joined(row, "all").count("million") for row in range(3)] == [1, 0, 0]  # the other one belongs to 2 million
    assert [joined(row, "all").count("percent") for row in range(3)] == [0, 1, 0]
    for recipe in ("num", "in-place"):
        model = attach(backbone_of("bert"), tokenizer, recipe)
        for numbers in ("annotated", "all"):
            assert (encode(model.processor, sentences, positions, numbers).places >= 0).all(), (recipe, numbers)


def test_whole_units_have_a_single_token() -> None:
    tokenizer = tokenizer_of("bert")
    texts = ["A cat weighs 5 kg.", "Some 5 cats ran."]
    rows = [{"comment": text, "offset": text.index("5"), "length": 1, "number": 5} for text in texts]
    positions = WordPositions.of([sentence_of_row(row) for row in rows], tokenizer)
    for row, word in enumerate(("kg", "cats")):
        pieces = len(tokenizer(word, add_special_tokens=False)["input_ids"])
        mine = positions.sentence == row
        assert (mine & positions.labels["unit"]).sum() == pieces
        assert (mine & positions.labels["whole"]).sum() == (1 if pieces == 1 else 0)
    sizes = [len(tokenizer(word, add_special_tokens=False)["input_ids"]) for word in ("kg", "cats")]
    assert min(sizes) == 1 and max(sizes) > 1  # both cases occur


def test_near_is_three_tokens_on_either_side() -> None:
    tokenizer = tokenizer_of("bert")
    positions = WordPositions.of(SENTENCES[:1], tokenizer)
    batch = tokenizer(SENTENCES[0].text, add_special_tokens=False, return_offsets_mapping=True)
    spans = batch["offset_mapping"]
    number = [index for index, (start, end) in enumerate(spans) if start < 16 and end > 13]
    around = {spans[i] for i in range(number[0] - 3, number[-1] + 4) if i not in number}
    near = zip(positions.start.tolist(), positions.end.tolist(), positions.labels["near"].tolist(), strict=True)
    assert {(start, end) for start, end, is_near in near if is_near} == around


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_encoding_has_tokens_of_the_same_words(recipe: str) -> None:
    for name, numbers in (("bert", "annotated"), ("roberta", "all")):
        positions, made = encoded(name, recipe, numbers)
        assert (made.places >= 0).all()
        special = set(tokenizer_of(name).all_special_ids)
        for row, place, target in zip(positions.sentence, made.places, positions.target, strict=True):
            assert made.rows[row]["input_ids"][place] == target
            assert target not in special and made.rows[row]["number_slots"][place] == 0


def test_annotated_number_or_all_numbers() -> None:
    for numbers, counts in (("annotated", [1, 1, 0, 1]), ("all", [2, 2, 0, 2])):
        _, made = encoded("bert", "num", numbers)
        assert [max(row["number_slots"]) for row in made.rows] == counts
    _, made = encoded("bert", "num", "annotated")
    assert made.number.tolist() == [0, 0, -1, 0]
    # The two rows of the same text have the slot at different numbers.
    assert made.rows[1]["input_ids"] != made.rows[3]["input_ids"]
    _, every = encoded("bert", "num", "all")
    assert every.number.tolist() == [0, 0, -1, 1] and every.rows[1]["input_ids"] == every.rows[3]["input_ids"]
    with pytest.raises(ValueError, match="numbers must be 'annotated' or 'all', got 'some'"):
        encoded("bert", "num", "some")


def test_the_annotated_number_may_be_of_any_kind() -> None:
    row = {"comment": "Built in 1999 for 45 cats in 2004.", "offset": 9, "length": 4, "number": 1999}
    sentence = sentence_of_row(row)
    model = attach(backbone_of("bert"), tokenizer_of("bert"), "num", reader="standard", kinds=("quantity",))
    positions = WordPositions.of([sentence], tokenizer_of("bert"))
    made = encode(model.processor, [sentence], positions, "all")
    values = model.processor([sentence.text])["number_bits"][0], made.rows[0]["number_bits"]
    assert [len(each) for each in values] == [1, 2]  # 45; and 1999, but not 2004


def test_truncated_words_have_no_place() -> None:
    model = attach(backbone_of("bert"), tokenizer_of("bert"), "num")
    positions = WordPositions.of(SENTENCES, tokenizer_of("bert"))
    made = encode(model.processor, SENTENCES, positions, max_tokens=8)
    assert (made.places < 0).any() and made.places.max() == 6


def test_words_move_with_the_length_of_their_number() -> None:
    positions = WordPositions.of(SENTENCES, tokenizer_of("bert"))
    changed = [sentence.scaled(1000) for sentence in SENTENCES]
    moved = positions.moved(SENTENCES, changed)
    for row, start, end, before, to in zip(
        moved.sentence, moved.start, moved.end, positions.start, positions.end, strict=True
    ):
        assert changed[row].text[start:end] == SENTENCES[row].text[before:to]
    assert (moved.start != positions.start).any()
