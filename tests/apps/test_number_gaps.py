"""Numbers for gaps: written as their text writes such numbers, with quantiles that samples agree with."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import pytest
import torch

import numerate
from numerate.apps.number_gaps import number_gaps
from numerate.errors import BadInput
from numerate.heads.arguments import NumberContext
from numerate.heads.scalar import NormalDistribution
from numerate.numerals.style import Style

MINI = Path(__file__).parents[2] / "models" / "numerate-mini"


@functools.cache
def mini() -> Any:
    if not MINI.is_dir():
        pytest.skip("models/numerate-mini is not in this copy")
    return numerate.from_pretrained(str(MINI)).eval()


def texts_of(text: str) -> list[list[str]]:
    return [[each["text"] for each in gap["numbers"]] for gap in number_gaps(mini(), "mini", text)]


@pytest.mark.parametrize(
    "text",
    [
        "The score was [NUM]-[NUM] at half time.",
        "The [NUM]th century saw the rise of the printing press.",
        "It opens at [NUM]:30 and closes at 17:[NUM].",
        "On [NUM] May 1945 the war in Europe ended.",
        "Version [NUM].2 was released.",
    ],
)
def test_what_is_whole_has_no_decimals(text: str) -> None:
    for numbers in texts_of(text):
        assert len(numbers) == 5 and all(each.lstrip("-").isdecimal() for each in numbers)


def test_years_are_written_to_the_year() -> None:
    for numbers in texts_of("From [NUM] to [NUM] he served as president."):
        assert all(len(each) == 4 and each.isdecimal() for each in numbers)
        assert any(not each.endswith("0") for each in numbers), "a decade is no year"


def test_prices_have_the_decimals_of_the_others() -> None:
    (numbers,) = texts_of("A ticket costs €[NUM], a beer €4.50 and a coffee €2.80.")
    assert all(len(each.partition(".")[2]) == 2 for each in numbers)
    (numbers,) = texts_of("Revenue was $1.2 billion in 2019 and $[NUM] billion in 2021.")
    assert not any(each.endswith(".00") for each in numbers)


def test_numbers_fit_their_place() -> None:
    (ordinals,) = texts_of("She won her [NUM]th title in 2010.")
    assert not any(each in ("1", "2", "3") or not each.isdecimal() for each in ordinals)
    (centuries,) = texts_of("The church was built in the [NUM] century.")
    assert all(each.endswith(("st", "nd", "rd", "th")) and each[:-2].isdecimal() for each in centuries)
    (decades,) = texts_of("It was founded in the late [NUM]s.")
    assert all(each.endswith("0") for each in decades)
    assert "0" not in texts_of("About 1/[NUM] of the votes were lost.")[0]


def test_abbreviated_scales_are_scales() -> None:
    short, long = (
        number_gaps(mini(), "mini", text)[0]["median"]
        for text in ("Revenue was $[NUM]bn in 2021.", "Revenue was $[NUM] billion in 2021.")
    )
    assert short == long < 1000


def test_candidates_keep_to_the_last_digits_of_their_context() -> None:
    rows = NormalDistribution(torch.tensor([1912.3, 1.3, 2.13], dtype=torch.float64), 1.0)
    plain = NumberContext(Style())
    contexts = (plain._replace(finest=0, coarsest=0), plain._replace(finest=0), plain._replace(decimals=2))
    found = rows.best(3)
    assert [any("." in each.text for each in row) for row in found] == [True, True, True]
    years, counts, prices = dataclasses.replace(rows, contexts=contexts).best(3)
    assert {each.text for each in years} == {"1911", "1912", "1913"}
    assert {each.text for each in counts} == {"0", "1", "2"}
    assert all(len(each.text.partition(".")[2]) == 2 for each in prices)
    assert sum(2.718281828**each.log_prob for each in counts) == pytest.approx(0.8849 - 0.0359, abs=2e-3)


def test_quantiles_agree_with_samples() -> None:
    generator = torch.Generator().manual_seed(5)
    for text in ("The tower is [NUM] metres tall.", "She was born in [NUM].", "About [NUM]% of the voters agreed."):
        distribution = mini().predict(text)
        samples = distribution.sample(20_000, generator=generator)[:, 0]
        for p in (0.05, 0.25, 0.5, 0.75, 0.95):
            below = float((samples <= distribution.quantile(p)).double().mean())
            assert below == pytest.approx(p, abs=4 * (p * (1 - p) / 20_000) ** 0.5), (text, p)


def test_minutes_have_two_digits() -> None:
    (minutes,) = texts_of("It opens at 9:[NUM].")
    assert all(len(each) == 2 for each in minutes) and any(each.startswith("0") for each in minutes)
    assert any(len(each) == 1 for each in texts_of("The train leaves at [NUM]:30.")[0])


def test_long_texts_are_read_around_their_gaps(caplog: pytest.LogCaptureFixture) -> None:
    text = "The [MASK] weighs [NUM] kg. " + "And more is said of it. " * 200
    (found,) = numerate.fill(text, mini())
    assert found["words"] and len(found["gaps"]) == 2
    far = "Much is said of it. " * 200
    (found,) = numerate.fill(
        f"{far}The tower is [NUM] metres tall. {far}She was born in [NUM]. {far}The [MASK].", mini()
    )
    metres, year, word = found["gaps"]
    assert metres["median"] < 1000 < year["median"] < 2100 and word["words"]
    with pytest.raises(BadInput, match=r"the \[NUM\] of text 0 is not among its first \d+ tokens: shorten the text"):
        numerate.fill("said," * 200 + "[NUM]", mini())
    assert "indexing errors" not in caplog.text
