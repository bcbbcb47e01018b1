"""Number-token losses against hand computation and loops over strings."""

from __future__ import annotations

import math
import random
import re

import pytest
import torch
from tokenizer_families import FAMILIES, make_tokenizer
from torch import Tensor

from numerate.config import ConfigError
from numerate.objectives.number_losses import digit_entropy, number_error, place_weights
from numerate.objectives.number_tokens import NumberTokenLoss
from numerate.objectives.number_vocabulary import NumberVocabulary, find_spans

CHARS = "0123456789.-+eE abcxyz)%,"
IDS = {char: index for index, char in enumerate(CHARS)}
LETTERS = NumberVocabulary.of_vocabulary(IDS)
KINDS = ("was", "mse", "mae", "number", "del")


def ids(*texts: str, vocabulary: dict[str, int] | None = None) -> Tensor:
    rows = [[(vocabulary or IDS)[char] for char in text] for text in texts]
    longest = max(map(len, rows))
    return torch.tensor([row + [-100] * (longest - len(row)) for row in rows])


def noise(labels: Tensor, width: int = len(CHARS), seed: int = 0, size: float = 2.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return size * torch.randn(*labels.shape, width, generator=generator)


def sure(labels: Tensor, width: int = len(CHARS), size: float = 60.0) -> Tensor:
    """Logits of a model that gives these tokens a probability of almost 1."""
    return size * torch.nn.functional.one_hot(labels.clamp_min(0), width).float()


# Number tokens of a vocabulary


def test_number_tokens_of_all_tokenizer_families() -> None:
    for family in FAMILIES:
        tokenizer = make_tokenizer(family)
        before = len(tokenizer)
        table = NumberVocabulary.of(tokenizer)
        strings = tokenizer.convert_ids_to_tokens(table.ids.tolist())
        for token, value in zip(strings, table.values.tolist(), strict=True):
            assert re.fullmatch("(▁|Ġ|##)?[0-9]", token), token
            assert float(token[-1]) == value
        if family != "record":
            assert set(table.values.tolist()) >= {0.0, 1.0, 2.0, 3.0}, family
        assert len(tokenizer) == before  # it is not changed


def test_multi_digit_tokens_and_tokens_that_are_not_numbers() -> None:
    tokens = ["12", "Ġ345", "▁7", "3.5", "-1", ".5", "1_000", "٣", "²", "inf", "nan", "1e5", "9" * 400, "##4", "", "Ġ"]
    table = NumberVocabulary.of_vocabulary({token: index for index, token in enumerate(tokens)}, multi_digit=True)
    assert table.values.tolist() == [12, 345, 7, 3.5, -1, 0.5]
    assert table.widths.tolist() == [2, 3, 1, 0, 0, 0]
    pieces = NumberVocabulary.of_vocabulary({"##4": 0, "4": 1, "##": 2}, continuing="##")
    assert pieces.values.tolist() == [4, 4]
    assert NumberVocabulary.of_vocabulary({}).ids.tolist() == []


# Losses of single tokens


def reference(kind: str, logits: Tensor, labels: Tensor) -> list[float]:
    """NTL as defined in the paper, with loops."""
    terms = []
    for row in range(labels.shape[0]):
        for at in range(labels.shape[1]):
            label = int(labels[row, at])
            if not 0 <= label <= 9:
                continue
            scores = [math.exp(logits[row, at, digit]) for digit in range(10)]
            p = [score / sum(scores) for score in scores]
            if kind == "was":
                terms.append(sum(p[digit] * abs(digit - label) for digit in range(10)))
            else:
                gap = sum(p[digit] * digit for digit in range(10)) - label
                terms.append(gap**2 if kind == "mse" else abs(gap))
    return terms


def test_token_losses_by_loops() -> None:
    for kind in ["was", "mse", "mae"]:
        labels = ids("abc 12.5 x", "-7 9 1e3)", "a")
        logits = noise(labels)
        loss = NumberTokenLoss(LETTERS, kind, weight=0.3)
        expected = reference(kind, logits, labels)
        assert loss.terms(logits, labels).tolist() == pytest.approx(expected, rel=1e-5), kind
        assert float(loss(logits, labels)) == pytest.approx(0.3 * sum(expected) / len(expected), rel=1e-5), kind


def test_shift_and_ignored_labels() -> None:
    labels = ids("x12", "3.4")
    logits = noise(labels)
    loss = NumberTokenLoss(LETTERS)
    moved = NumberTokenLoss(LETTERS).terms(logits[:, :-1], labels[:, 1:])
    assert torch.equal(loss.terms(logits, labels, shift=True), moved)
    hidden = labels.clone()
    hidden[0] = -100
    assert torch.equal(loss.terms(logits, hidden), loss.terms(logits[1:], labels[1:]))
    other = NumberTokenLoss(LETTERS, ignore_index=IDS["3"])
    assert len(other.terms(logits, labels)) == 3


def test_width_of_the_logits_does_not_matter() -> None:
    for kind in KINDS:
        labels = ids("-12.5e3 7")
        logits = noise(labels)
        loss = NumberTokenLoss(LETTERS, kind)
        wide = torch.cat([logits, noise(labels, 300, seed=1)], dim=-1)
        assert torch.equal(loss(wide, labels), loss(logits, labels)), kind
        own = torch.cat([labels, torch.full((1, 1), 250)], dim=1)  # a label beyond the vocabulary
        assert torch.equal(loss(torch.cat([wide, wide[:, :1]], dim=1), own), loss(logits, labels)), kind
        # Logits of the first eight tokens only: 8 and 9 cannot be predicted.
        narrow = loss.terms(logits[..., :8], labels)
        assert bool(narrow.isfinite().all()), kind


def test_loss_without_numbers_is_zero_with_a_gradient() -> None:
    for kind in KINDS:
        for labels in (ids("abc"), torch.full((2, 3), -100), torch.zeros(1, 0, dtype=torch.int64), ids("7")):
            logits = torch.zeros(*labels.shape, len(CHARS), requires_grad=True)
            shift = labels.shape == (1, 1)  # a shifted text of one token has nothing to predict
            loss = NumberTokenLoss(LETTERS, kind)(logits, labels, shift=shift)
            assert loss.item() == 0, kind
            loss.backward()
            assert logits.grad is not None, kind
            assert not logits.grad.any(), kind


def test_half_precision_and_masked_logits() -> None:
    for kind in KINDS:
        labels = ids("-12.5e3 7", "9999999999")
        logits = noise(labels).bfloat16().requires_grad_()
        loss = NumberTokenLoss(LETTERS, kind)(logits, labels)
        assert loss.dtype == torch.float32, kind
        assert loss.item() == pytest.approx(NumberTokenLoss(LETTERS, kind)(logits.float(), labels).item(), rel=1e-6), (
            kind
        )
        masked = noise(labels).masked_fill(torch.arange(len(CHARS)) < 10, -torch.inf).requires_grad_()
        result = NumberTokenLoss(LETTERS, kind)(masked, labels)
        result.backward()
        assert math.isfinite(result.item()), kind
        assert masked.grad is not None, kind
        assert bool(masked.grad.isfinite().all()), kind


def test_gradients() -> None:
    for kind in KINDS:
        labels = ids("-12.5e-3 7", "0.50 x+9e1")
        logits = noise(labels).double().requires_grad_()
        loss = NumberTokenLoss(LETTERS, kind, correct_mass=kind != "del")
        assert torch.autograd.gradcheck(loss, (logits, labels), atol=1e-4, fast_mode=True), kind


def test_squash_by_hand() -> None:
    table = NumberVocabulary.of_vocabulary({"0": 0, "1": 1, "100": 2}, multi_digit=True)
    loss = NumberTokenLoss(table, "was", squash=3)
    # For the label 0, the distance of token 1 becomes 1 and that of token 100 becomes 3; 99 becomes 1 + 98 * 2 / 99.
    logits = torch.zeros(1, 2, 3)
    terms = loss.terms(logits, torch.tensor([[0, 1]])).tolist()
    assert terms == pytest.approx([(0 + 1 + 3) / 3, (1 + 0 + 1 + 98 * 2 / 99) / 3])


def test_mass_correction_by_hand() -> None:
    labels = ids("4")
    logits = torch.zeros(1, 1, len(CHARS))
    share = 10 / len(CHARS)
    plain = sum(abs(digit - 4) for digit in range(10)) / 10
    was = NumberTokenLoss(LETTERS, "was", correct_mass=True).terms(logits, labels).item()
    assert was == pytest.approx(share * plain + 1.01 * 9 * (1 - share))
    mse = NumberTokenLoss(LETTERS, "mse", correct_mass=True).terms(logits, labels).item()
    assert mse == pytest.approx(share * 0.25 + 1.01 * 81 * (1 - share))
    # Text instead of a number is worse than the worst digit.
    text = sure(ids("x"))
    assert float(NumberTokenLoss(LETTERS, correct_mass=True).terms(text, ids("0"))) > 9


def test_mass_of_a_whole_number_is_that_of_its_first_digit() -> None:
    """As in `ntloss`: the mass of number tokens where the number begins, whatever its other digits have."""
    text = "x12 7x905"
    labels = ids(text)
    logits = noise(labels).double()
    plain = NumberTokenLoss(LETTERS, "number").terms(logits, labels).tolist()
    found = NumberTokenLoss(LETTERS, "number", correct_mass=True).terms(logits, labels).tolist()
    assert len(found) == 3
    for start, term, corrected in zip((1, 4, 6), plain, found, strict=True):
        chances = [math.exp(float(score)) for score in logits[0, start]]
        mass = sum(chances[IDS[digit]] for digit in "0123456789") / sum(chances)
        assert corrected == pytest.approx(mass * term + 1.01 * (1 - mass), rel=1e-6)
    assert NumberTokenLoss(LETTERS, "number", correct_mass=True).count(labels) == 3


# Losses of whole numbers

NUMBER = re.compile(r"(?:(?<![0-9A-Za-z)%])([-+]))?([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?)([0-9]+))?")


def softmax_at(logits: Tensor, at: int, chars: str) -> dict[str, float]:
    scores = {char: math.exp(float(logits[at, IDS[char]])) for char in chars}
    return {char: score / sum(scores.values()) for char, score in scores.items()}


def number_reference(text: str, logits: Tensor) -> list[float]:
    """Relative error of the number of expected digits, averaged over the signs, with loops."""

    def expected(start: int, whole: str, fraction: str = "") -> float:
        total, place = 0.0, len(whole) - 1
        for at, char in enumerate(f"{whole}.{fraction}" if fraction else whole, start):
            if char != ".":
                p = softmax_at(logits, at, "0123456789")
                total += sum(p[digit] * int(digit) for digit in p) * 10.0**place
                place -= 1
        return total

    def minus(at: int) -> float:
        return softmax_at(logits, at, "0123456789-")["-"]

    terms = []
    for match in NUMBER.finditer(text):
        sign, whole, fraction, exponent_sign, exponent = match.groups()
        gold = float(f"{whole}.{fraction or 0}") * (-1 if sign == "-" else 1)
        size = expected(match.start(2), whole, fraction or "")
        powers = {0.0: 1.0}
        if exponent:
            gold *= 10.0 ** int(exponent_sign + exponent)
            power, p = expected(match.start(5), exponent), minus(match.start(4) if exponent_sign else match.start(5))
            powers = {power: 1 - p, -power: p}
        p = minus(match.start(1) if sign else match.start(2))
        term = 0.0
        for power, chance in powers.items():
            for factor, share in ((1, 1 - p), (-1, p)):
                guess = factor * size * 10.0**power
                total = abs(guess) + abs(gold)
                term += chance * share * (abs(guess - gold) / total if total else 0.0)
        terms.append(term)
    return terms


def test_numbers_by_loops() -> None:
    texts = (
        "7", "12.34", "-5", "x-5", "3-5", "a -5.25 b", "1e5", "-1.5e-3", "2E+7 x", " 1)", "0.001", "10 20", "1.2.3",
        "1.2.3.4", "5.", "x.5", "12ex", "e5", "1e", "7%-8%", "1,000", "--5", "+6", "3e-", "0042.50", "1e05",
    )  # fmt: skip
    for text in texts:
        labels = ids(text)
        logits = noise(labels, seed=len(text), size=0.7).double()
        found = NumberTokenLoss(LETTERS, "number").terms(logits, labels).tolist()
        assert found == pytest.approx(number_reference(text, logits[0]), rel=1e-9), text


def test_random_texts_by_loops() -> None:
    generator = random.Random(0)
    parts = ["", "-", "+", "x", " ", ")", "%", ",", ".", "e", "E", "e-", "ab "]
    for seed in range(60):
        text = "".join(generator.choice(parts) + str(generator.randint(0, 99)) for _ in range(generator.randint(1, 6)))
        if re.search(r"[eE][-+]?[0-9]+[.eE]|[eE][-+]?[0-9]{3}", text):
            continue  # exponents that the loops read differently or cannot compute
        labels = ids(text)
        logits = noise(labels, seed=seed, size=0.5).double()
        found = NumberTokenLoss(LETTERS, "number").terms(logits, labels).tolist()
        assert found == pytest.approx(number_reference(text, logits[0]), rel=1e-9), text


def test_exponent_with_a_point_is_not_an_exponent() -> None:
    spans = find_spans(ids("1e5.3"), LETTERS)
    assert spans.exponent.tolist() == [0, 0, 0]
    spans = find_spans(ids("1e5"), LETTERS)
    assert spans.exponent.tolist() == [0, 2, 0]
    assert spans.is_exponent.tolist() == [False, False, True]


def test_rows_of_a_batch_are_independent() -> None:
    one, other = "12.5e3", "-77 .5"
    labels = ids(one, other)
    logits = noise(labels)
    loss = NumberTokenLoss(LETTERS, "number")
    apart = [loss.terms(logits[row : row + 1], labels[row : row + 1]) for row in (0, 1)]
    assert torch.allclose(loss.terms(logits, labels), torch.cat(apart))


def test_number_loss_is_the_relative_error() -> None:
    loss = NumberTokenLoss(LETTERS, "number")

    def cost(predicted: str, gold: str) -> float:
        return float(loss.terms(sure(ids(predicted)), ids(gold)).sum())

    for text in ("7", "-12.50", "3.1e-7", "0", "9" * 60, "0.000", "1e99"):
        assert cost(text, text) == pytest.approx(0, abs=1e-9)
    assert cost("13.34", "12.34") == pytest.approx(1 / 25.68)
    assert cost("12.35", "12.34") == pytest.approx(0.01 / 24.69)
    assert cost("-5", "05") == pytest.approx(1)  # the sign is decided at the first digit
    assert cost("x5", "-5") == pytest.approx(10 / 11)  # neither digit nor minus: all eleven are equally probable
    assert cost("2e3", "2e4") == pytest.approx(18 / 22)
    assert cost("2e-4", "2e+4") == pytest.approx(1)
    assert cost("1" + "0" * 59, "2" + "0" * 59) == pytest.approx(1 / 3)


def test_wrong_sign_has_a_gradient() -> None:
    logits = sure(ids("-5"), size=3.0).requires_grad_()
    labels = ids("05")
    NumberTokenLoss(LETTERS, "number")(logits, labels).backward()
    assert logits.grad is not None
    assert float(logits.grad[0, 0, IDS["-"]]) > 1e-3


def test_multi_digit_tokens_are_placed_where_they_start() -> None:
    vocabulary = {"12": 0, "34": 1, "3": 2, ".": 3, "Ġ34": 4, "341": 5}
    table = NumberVocabulary.of_vocabulary(vocabulary, multi_digit=True)
    loss = NumberTokenLoss(table, "number", multi_digit=True)
    labels = torch.tensor([[0, 3, 1]])  # 12.34

    def cost(*tokens: str) -> float:
        wanted = torch.tensor([[vocabulary[token] for token in tokens]])
        return float(loss.terms(sure(wanted, len(vocabulary)), labels))

    assert cost("12", ".", "34") == pytest.approx(0, abs=1e-9)
    assert cost("12", ".", "3") == pytest.approx(0.04 / 24.64)
    assert cost("12", ".", "341") == pytest.approx(0.001 / 24.681)
    assert cost("34", ".", "34") == pytest.approx(22 / 46.68)
    # A token with a leading space starts a new number, even after a point.
    assert find_spans(torch.tensor([[0, 4, 0]]), table).run.tolist() == [[1, 2, 2]]
    assert find_spans(torch.tensor([[0, 3, 4]]), table).run.tolist() == [[1, 0, 2]]


def test_wordpiece_tokens() -> None:
    vocabulary = {"12": 0, "##3": 1, "4": 2, ".": 3, "-": 4, "##e": 5, "e": 6, "was": 7}
    table = NumberVocabulary.of_vocabulary(vocabulary, multi_digit=True, continuing="##")

    def runs(*tokens: str) -> list[int]:
        return find_spans(torch.tensor([[vocabulary[token] for token in tokens]]), table).run[0].tolist()

    assert runs("12", "##3", "4") == [1, 1, 2]  # 123 4
    assert runs("12", ".", "4") == [1, 0, 1]  # 12.4
    assert runs("12", "##e", "-", "4") == [1, 0, 0, 2]
    spans = find_spans(torch.tensor([[7, 4, 2, 4, 2]]), table)  # was -4-4
    assert spans.negative.tolist() == [False, True, False]


def written(tokens: list[int], table: NumberVocabulary) -> list[float]:
    """The numbers that label tokens form, from the places of their digits."""
    labels = torch.tensor([tokens])
    spans = find_spans(labels, table)
    totals = [0.0] * len(spans.top)
    for at, token in enumerate(tokens):
        column = int(table.column[token])
        if run := int(spans.run[0, at]):
            last = int(spans.place[0, at]) - int(table.widths[column]) + 1
            totals[run] += float(table.values[column]) * 10.0**last
    values = []
    for run in range(1, len(totals)):
        if not spans.is_exponent[run]:
            power = int(spans.exponent[run])
            scale = totals[power] * (-1 if spans.negative[power] else 1) if power else 0
            values.append(totals[run] * 10.0**scale * (-1 if spans.negative[run] else 1))
    return values


def test_numbers_of_real_tokenizations() -> None:
    for family in FAMILIES:
        tokenizer = make_tokenizer(family)
        tokens = tokenizer("the 12.5 or -330 in 2023 , 47-33 , 0.75", add_special_tokens=False).input_ids
        table = NumberVocabulary.of(tokenizer, multi_digit=True)
        strings = tokenizer.convert_ids_to_tokens(tokens)
        assert written(tokens, table) == pytest.approx([12.5, -330, 2023, 47, 33, 0.75]), strings


# Digit entropy


def test_digit_entropy_by_hand() -> None:
    labels = ids("12.34")
    logits = noise(labels)
    terms = NumberTokenLoss(LETTERS, "del").terms(logits, labels).tolist()
    expected = []
    for at, weight in ((0, 4.0), (1, 2.0), (3, 1.0), (4, 1 / 1.02)):
        z = logits[0, at, :10].tolist()
        q = [math.exp(x) / sum(map(math.exp, z)) for x in z]
        bce = [-math.log(1 / (1 + math.exp(-x if digit == labels[0, at] else x))) for digit, x in enumerate(z)]
        expected.append(weight * sum(b * share for b, share in zip(bce, q, strict=True)))
    assert terms == pytest.approx(expected, rel=1e-5)
    assert float(NumberTokenLoss(LETTERS, "del")(logits, labels)) == pytest.approx(0.01 * sum(expected) / 4, rel=1e-5)


def test_digit_entropy_counts_tokens_of_one_value_as_one() -> None:
    table = NumberVocabulary.of_vocabulary({"5": 0, "Ġ5": 1, "Ġ2": 2, "2": 3})
    logits = torch.tensor([[[0.1, 0.7, -0.3, 0.2]]])
    term = NumberTokenLoss(table, "del").terms(logits, torch.tensor([[1]])).item()
    merged = torch.stack([logits[0, :, 2:].logsumexp(-1), logits[0, :, :2].logsumexp(-1)], dim=-1)
    expected = digit_entropy(merged, torch.tensor([1]), place_weights(torch.tensor([0])))
    assert term == pytest.approx(float(expected), rel=1e-5)


def test_number_error_of_zero() -> None:
    nothing = torch.zeros(1)
    assert number_error(nothing, nothing, torch.ones(1)).item() == 0


# Use in training


def test_gradient_descent_lowers_every_loss() -> None:
    for kind in KINDS:
        labels = ids("-12.5e3 7", "0.75 3e-12")
        logits = noise(labels, size=0.5).requires_grad_()
        loss = NumberTokenLoss(LETTERS, kind, weight=1.0)
        first = loss(logits, labels).item()
        optimiser = torch.optim.Adam([logits], lr=0.3)
        for _ in range(40):
            optimiser.zero_grad()
            loss(logits, labels).backward()
            optimiser.step()
        assert loss(logits, labels).item() < 0.5 * first, kind


def test_bad_options_are_quoted() -> None:
    with pytest.raises(ConfigError, match="'wass'"):
        NumberTokenLoss(LETTERS, "wass")
    with pytest.raises(ConfigError, match=r"squash=0\.5, loss='was'"):
        NumberTokenLoss(LETTERS, squash=0.5)
    with pytest.raises(ConfigError, match="'mse'"):
        NumberTokenLoss(LETTERS, "mse", squash=2.0)
    with pytest.raises(ConfigError, match="-1"):
        NumberTokenLoss(LETTERS, weight=-1.0)
    with pytest.raises(ConfigError, match="del"):
        NumberTokenLoss(LETTERS, "del", correct_mass=True)
    with pytest.raises(ConfigError, match="did you mean 'squash'"):
        NumberTokenLoss(LETTERS, squish=2.0)
    with pytest.raises(ValueError, match="no number tokens"):
        NumberTokenLoss(NumberVocabulary.of_vocabulary({"a": 0}))
    with pytest.raises(ValueError, match=r"\(1, 2, 3\) and \(1, 3\)"):
        NumberTokenLoss(LETTERS)(torch.zeros(1, 2, 3), torch.zeros(1, 3, dtype=torch.int64))
