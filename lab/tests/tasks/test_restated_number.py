"""Numbers repeated in another unit: only ratios that are certain in training."""

from __future__ import annotations

import numpy as np

from numerate_lab.tasks.masked_prediction.number_guesses import restated_numbers
from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence, sentence_of_row


def made(text: str, number: str, unit: str) -> NumberSentence:
    row = {"text": text, "offset": text.index(number), "length": len(number), "number": number, "unit": unit}
    return sentence_of_row(row)


def test_only_constant_ratios_of_units_are_learned() -> None:
    miles = [made(f"{km} km ({km * 0.621:.1f} mi) away", str(km), "km") for km in range(20, 60)]
    loose = [made(f"{m} m in {1900 + 7 * m % 100} years", str(m), "m") for m in range(20, 60)]
    rare = [made(f"{kg} kg or {kg * 2.2:.0f} lb", str(kg), "kg") for kg in range(30, 40)]
    train = [*miles, *loose, *rare]
    test = [
        made("about 1,610 km (1,000 mi)", "1,610", "km"),
        made("50 m in 1950 years", "50", "m"),  # years and heights have no constant ratio
        made("35 kg or 77 lb", "35", "kg"),  # ten sentences are too few
        made("7 km", "7", "km"),
        made("in 1999 it was 16 km (10 mi) and 3 m", "16", "km"),
    ]
    found = restated_numbers(train, test)
    np.testing.assert_allclose(found[[0, 4]], [1610.3, 16.1], rtol=2e-3)
    assert np.isnan(found[[1, 2, 3]]).all()


def test_the_number_itself_is_not_used() -> None:
    train = [made(f"{km} km ({km * 0.621:.1f} mi) away", str(km), "km") for km in range(20, 60)]
    one, other = (made(f"{km} km (62.1 mi) away", km, "km") for km in ("100", "987"))
    assert restated_numbers(train, [one]).tolist() == restated_numbers(train, [other]).tolist()
