"""Rare kinds are fitted to more texts, and nothing else changes."""

from __future__ import annotations

import pytest
from judging_models import facts, judging_model

from numerate.apps.calibrating import calibrate, calibrate_kinds, chosen_for
from numerate.errors import BadInput
from numerate.modeling.number_calibration import MEASURES

PRICES = [text for text in facts(900, seed=3) if "$" in text]


def test_a_rare_kind_is_fitted_again_and_the_others_stay() -> None:
    model = judging_model()
    few = [text for text in facts(300, seed=5) if "$" not in text] + PRICES[:40]
    before = calibrate(model, few, about="few")
    after = calibrate_kinds(model, [*few, *PRICES[40:]], ["money", "percent"], about="few; more of money")
    assert model.calibration is after and after.about == "few; more of money" and after.forms == before.forms
    assert (before.held_out["money"], after.held_out["money"]) == (40, len(PRICES)) and "percent" not in after.stretch
    for measure in MEASURES:
        # After 40 numbers the rarest alarm is that of 2.5 %.
        assert len(after.scores[measure]["money"]) > len(before.scores[measure]["money"])
        others = [
            {name: each for name, each in one.scores[measure].items() if name != "money"} for one in (before, after)
        ]
        assert others[0] == others[1]
    assert after.stretch["money"] != before.stretch["money"] and after.stretch["all"] == before.stretch["all"]
    # The same numbers as in a calibration to all of them, with the same counts of written numbers.
    whole = calibrate(model, [*few, *PRICES[40:]], forms=before.forms)
    assert after.scores["odds"]["money"] == pytest.approx(whole.scores["odds"]["money"], abs=1e-4)
    assert after.stretch["money"] == pytest.approx(whole.stretch["money"], abs=1e-4)


def test_numbers_are_chosen_by_what_may_stand_there() -> None:
    model = judging_model()
    texts = ["It cost $20 in 1998.", "It lasted from 1998 to 2004, or 1990-95.", "It is 5 m long.", "It cost $30."]
    found = chosen_for(model, texts, ["money", "range"], most=1)
    assert [(text, numeral.value) for text, numeral, kinds in found if "money" in kinds] == [(texts[0], 20.0)]
    ranges = {numeral.value for _, numeral, kinds in found if "range" in kinds}
    assert ranges and not ranges & {5.0, 20.0, 30.0}


def test_what_cannot_be_fitted_is_said() -> None:
    model = judging_model()
    with pytest.raises(BadInput, match=r"calibrate takes many texts, got one: 'It costs 5\.'"):
        calibrate(model, "It costs 5.")
    with pytest.raises(BadInput, match=r"calibrate takes a NumberModel, got 'out': load it with numerate.from"):
        calibrate("out", PRICES)
    with pytest.raises(TypeError, match="calibrate takes a text or a list of texts, got None"):
        calibrate(model, [*PRICES, None])
    with pytest.raises(BadInput, match="no calibration"):
        calibrate_kinds(model, PRICES, ["money"])
    before = calibrate(model, facts(120, seed=6))
    with pytest.raises(BadInput, match="unknown kind 'cents'"):
        calibrate_kinds(model, PRICES, ["cents"])
    assert calibrate_kinds(model, PRICES[:29], ["money"]) == before  # too few: as it was
    assert calibrate_kinds(model, [], ["money"]) == before
