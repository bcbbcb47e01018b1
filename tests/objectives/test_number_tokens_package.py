"""Number-token losses against `ntloss`, the package of the paper's authors."""

from __future__ import annotations

import copy

import pytest
import torch
from tokenizer_families import make_tokenizer

from numerate.objectives.number_tokens import NumberTokenLoss
from numerate.objectives.number_vocabulary import NumberVocabulary


@pytest.fixture(scope="module")
def package() -> object:
    import ntloss
    from loguru import logger

    logger.remove()  # it logs every unknown vocabulary
    return ntloss


def test_against_the_package(package: object) -> None:
    for kind in ["was", "mse"]:
        for correct_mass in [False, True]:
            tokenizer = copy.deepcopy(make_tokenizer("bpe"))  # the package adds digits to it
            theirs = {"was": "NTLoss", "mse": "NTLossDotProduct"}[kind]
            other = getattr(package, theirs)(tokenizer, reweigh=correct_mass)
            ids_of = tokenizer("x12 + 3.45 = 99 0 of 7", return_tensors="pt").input_ids
            labels = torch.where(torch.arange(ids_of.shape[1]) % 5 == 4, -100, ids_of)
            table = NumberVocabulary.of(tokenizer)
            # The package ignores tokens with a leading space.
            plain = torch.tensor(
                [index for index in table.ids.tolist() if len(tokenizer.convert_ids_to_tokens(index)) == 1]
            )
            vocabulary = {tokenizer.convert_ids_to_tokens(index): index for index in plain.tolist()} | {
                "x": len(tokenizer) - 1
            }
            loss = NumberTokenLoss(
                NumberVocabulary.of_vocabulary(vocabulary), kind, weight=1.0, correct_mass=correct_mass
            )
            logits = 2 * torch.randn(*labels.shape, len(tokenizer), generator=torch.Generator().manual_seed(0))
            assert len(loss.terms(logits, labels)) >= 3, (kind, correct_mass)
            assert float(loss(logits, labels)) == pytest.approx(float(other(logits, labels)), rel=1e-5), (
                kind,
                correct_mass,
            )


def test_squash_against_the_package(package: object) -> None:
    tokenizer = copy.deepcopy(make_tokenizer("bpe"))  # the package adds digits to it
    other = package.NTLoss(tokenizer, digit_level=False, reweigh=False, squash_factor=2.5)  # type: ignore[attr-defined]
    numbers = other.is_number_token.nonzero()[:, 0].tolist()
    vocabulary = {tokenizer.convert_ids_to_tokens(index): index for index in numbers}
    assert any(len(token) > 1 for token in vocabulary)
    table = NumberVocabulary.of_vocabulary(vocabulary, multi_digit=True)
    assert table.ids.tolist() == numbers
    labels = torch.tensor([numbers])
    logits = 2 * torch.randn(*labels.shape, len(tokenizer), generator=torch.Generator().manual_seed(0))
    loss = NumberTokenLoss(table, "was", squash=2.5, multi_digit=True, weight=1.0)
    assert float(loss(logits, labels)) == pytest.approx(float(other(logits, labels)), rel=1e-5)


def test_whole_numbers_against_the_package(package: object) -> None:
    # Both agree for numbers without sign and point in a vocabulary without a minus.
    tokenizer = copy.deepcopy(make_tokenizer("bpe"))  # the package adds digits to it
    digits = {str(digit): tokenizer.convert_tokens_to_ids(str(digit)) for digit in range(10)}
    word = tokenizer.convert_tokens_to_ids("x")
    labels = torch.tensor([[digits[char] if char != " " else word for char in "12 7 9030 5 44"]])
    logits = 2 * torch.randn(*labels.shape, len(tokenizer), generator=torch.Generator().manual_seed(0))
    for mass in (False, True):
        other = package.NumberLevelLoss(tokenizer, reweigh=mass)  # type: ignore[attr-defined]
        loss = NumberTokenLoss(NumberVocabulary.of_vocabulary(digits), "number", weight=1.0, correct_mass=mass)
        assert len(loss.terms(logits, labels)) == 5
        assert float(loss(logits, labels)) == pytest.approx(float(other(logits, labels)), rel=1e-5), mass
