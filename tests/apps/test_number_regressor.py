"""`NumberRegressor`: it learns, its intervals are calibrated, it is saved, and it is an estimator of scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate import NumberRegressor
from numerate.apps.regression.network import TargetScale
from numerate.errors import NumerateError
from numerate.modeling.artefact import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path

DRAWS = np.random.default_rng(0)
WIDTHS = DRAWS.integers(20, 200, 120)
TEXTS = [f"The river is {width} wide and tall." for width in WIDTHS]
SHORT: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 30}


def regressor(name: str = "bert", **options: Any) -> NumberRegressor:
    return NumberRegressor(new_backbone(name), tokenizer_of(name), **SHORT | options)


@pytest.fixture(scope="module")
def fitted() -> NumberRegressor:
    return regressor().fit(TEXTS, 2.0 * WIDTHS)


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "llama", "encoder", "classifier"])
def test_every_encoder_and_decoder(name: str) -> None:
    backbone = new_backbone(name)
    before = {key: value.clone() for key, value in backbone.state_dict().items()}
    made = NumberRegressor(backbone, tokenizer_of(name), **SHORT)
    assert made.fit(TEXTS[:40], WIDTHS[:40]) is made
    found = made.predict(TEXTS[:7])
    assert found.shape == (7,) and found.dtype == np.float64 and np.isfinite(found).all()
    assert all(torch.equal(value, before[key]) for key, value in backbone.state_dict().items()), "it trains a copy"
    assert not made.model_.info.is_language_model and made.model_.relations is not None


def test_it_learns_a_ratio_to_the_number_of_the_text() -> None:
    made = regressor("gpt2", epochs=20, batch_size=16, number_learning_rate=1e-2)
    made.fit(TEXTS, 2.0 * WIDTHS)
    assert np.mean(made.losses_[-5:]) < np.mean(made.losses_[:5]) - 0.3
    assert made.score(TEXTS, 2.0 * WIDTHS) > 0.5


def test_intervals_are_calibrated_on_held_out_texts(fitted: NumberRegressor) -> None:
    low, high = fitted.predict_interval(TEXTS).T
    assert (low < fitted.predict(TEXTS)).all() and (fitted.predict(TEXTS) < high).all()
    inside = (low <= 2.0 * WIDTHS) & (high >= 2.0 * WIDTHS)
    assert 0.8 <= inside.mean() <= 1 and fitted.calibration_.held_out == {"target": 30}
    narrow = fitted.predict_interval(TEXTS[:5], level=0.5)
    assert (np.diff(narrow) < np.diff(fitted.predict_interval(TEXTS[:5], level=0.95))).all()
    assert regressor(held_out=0).fit(TEXTS[:40], WIDTHS[:40]).calibration_.stretch == {}
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got 90"):
        fitted.predict_interval(TEXTS, level=90)


@pytest.mark.parametrize(
    "targets", [[-3.0, 5.0], [0.0, 10.0], [-1.0, -1e6], [1e-30, 1e30], [7.0, 7.0], [0.0, 0.0]], ids=str
)
def test_targets_of_every_sign_and_size(targets: list[float]) -> None:
    y = np.resize(np.array(targets), 20)
    made = regressor().fit(TEXTS[:20], y)
    low, high = made.predict_interval(TEXTS[:5]).T
    assert np.isfinite(made.predict(TEXTS[:5])).all() and (low <= high).all()
    assert np.isfinite(made.losses_).all() and np.isfinite(made.score(TEXTS[:20], y))
    scale = TargetScale.of(y)
    np.testing.assert_allclose(scale.number(scale.line(scale.seen(y))), y, rtol=1e-9, atol=1e-12)


def test_the_seed_decides() -> None:
    first, again, other = (regressor(seed=seed).fit(TEXTS[:30], WIDTHS[:30]).predict(TEXTS[:5]) for seed in (0, 0, 1))
    assert (first == again).all() and (first != other).any()
    state = torch.get_rng_state()
    regressor().fit(TEXTS[:20], WIDTHS[:20])
    assert torch.equal(state, torch.get_rng_state()), "the caller's random state is left as it is"


def test_predictions_do_not_depend_on_other_texts(fitted: NumberRegressor) -> None:
    texts = [TEXTS[0], TEXTS[1] + " It was built of stone in winter.", "[NUM] or [NUM]?", ""]
    together = fitted.predict(texts)
    np.testing.assert_allclose([fitted.predict([text])[0] for text in texts], together, rtol=1e-3)
    assert fitted.predict([]).shape == (0,)


def test_long_texts_are_cut_before_the_question() -> None:
    made = regressor(max_length=12).fit([text * 9 for text in TEXTS[:20]], WIDTHS[:20])
    assert np.isfinite(made.predict([TEXTS[0] * 50])).all()


def test_saved_and_loaded(fitted: NumberRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "regressor.json" in names and not any(name.endswith((".bin", ".pkl", ".pt")) for name in names)
    again = NumberRegressor.load(tmp_path / "out")
    np.testing.assert_allclose(again.predict_interval(TEXTS[:9]), fitted.predict_interval(TEXTS[:9]), rtol=1e-6)
    assert again.learning_rate == fitted.learning_rate
    assert again.set_params(epochs=1).fit(TEXTS[:20], WIDTHS[:20]).predict(TEXTS[:1]).shape == (1,)
    with pytest.raises(ArtefactError, match=r"no regressor\.json"):
        NumberRegressor.load(tmp_path)
    (tmp_path / "out" / "regressor.json").write_text('{"kind": "number-regressor", "parameters": {"nothing": 1}}')
    with pytest.raises(ArtefactError, match=r"regressor\.json"):
        NumberRegressor.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("texts", "y", "message"),
    [
        ("one text", [1.0], "texts must be a list of strings, got 'one text'"),
        ([1.5, 2.5], [1.0, 2.0], "texts must be strings, got float at 0"),
        (TEXTS[:3], [1.0, 2.0], "3 texts and 2 numbers"),
        (TEXTS[:2], [1.0, float("nan")], "NaN or infinity at 1"),
        (TEXTS[:2], ["a", "b"], "y must be numbers"),
        (TEXTS[:2], [1j, 2j], "y must be numbers, got complex128"),
        (TEXTS[:2], np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"), "y must be numbers, got datetime64"),
        (TEXTS[:2], [10**400, 1], r"y must be numbers \(too large for a float\), got '\[1000"),
        (["a \ud800", "b"], [1.0, 2.0], r"text 0 has half of a character \(a lone surrogate\), '\\ud800'"),
        (TEXTS[:1], [1.0], "at least 2 texts"),
        (TEXTS[:2], [[1.0, 2.0], [3.0, 4.0]], "one number for each text"),
        (TEXTS[:2], None, "y to be passed"),
    ],
)
def test_bad_input_is_one_clear_line(texts: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        regressor().fit(texts, y)
    assert isinstance(caught.value, NumerateError) and "\n" not in str(caught.value)


def test_bad_parameters_are_refused() -> None:
    for options, message in (
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"held_out": None}, "held_out must be at least 0 and below 1, got None"),
        ({"batch_size": "a"}, "batch_size must be a whole number, got 'a'"),
        ({"epochs": 1.5}, "epochs must be a whole number or None, got 1.5"),
        ({"learning_rate": -1}, "learning_rate must be a finite number of at least 0, got -1"),
        ({"seed": "a"}, "seed must be a whole number, got 'a'"),
        ({"device": "gpu"}, "device must be one of torch, such as 'cpu' or 'cuda:0', got 'gpu'"),
        ({"max_length": 3}, "max_length must leave room for the question behind a text, at least 4, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            regressor(**options).fit(TEXTS[:3], WIDTHS[:3])
    for parts, message in (
        ((3, None), "model must be a Hugging Face model"),
        ((new_backbone("bert"), 3), "tokenizer must"),
    ):
        with pytest.raises(ValueError, match=message):
            NumberRegressor(*parts).fit(TEXTS[:3], WIDTHS[:3])
    with pytest.raises(ValueError, match="did you mean 'epochs'"):
        regressor().set_params(epoch=3)
    with pytest.raises(TypeError, match="encoder or a decoder"):
        regressor("t5").fit(TEXTS[:3], WIDTHS[:3])


def test_bad_arguments_of_predict_and_score(fitted: NumberRegressor) -> None:
    few, y = TEXTS[:3], 2.0 * WIDTHS[:3]
    for wrong, message in (
        (lambda: fitted.predict_quantiles(few, 0.5), "quantiles must be a list of numbers"),
        (lambda: fitted.predict_interval(few, "0.9"), "level must lie between 0 and 1, got '0.9'"),
        (lambda: fitted.score(few, y, [1.0, 2.0]), "one weight for each of the 3 texts"),
        (lambda: fitted.score(few, y, [0.0, 0.0, 0.0]), "sample_weight must be finite, not negative, and not all 0"),
        (lambda: fitted.score(few, y, ["a", "b", "c"]), "sample_weight must be numbers"),
        (lambda: fitted.predict({"text": few}), "one dict is no table"),
    ):
        with pytest.raises(NumerateError, match=message) as caught:
            wrong()
        assert "\n" not in str(caught.value)


def test_parameters_of_a_search_are_saved(tmp_path: Path) -> None:
    """A search of parameters sets numbers of NumPy, and a user may name a folder by its path."""
    folder: Any = tmp_path / "base"
    saved_model(folder)
    made = NumberRegressor(folder, epochs=np.int64(2), batch_size=30, held_out=np.float32(0.0))  # type: ignore[arg-type]
    made.fit(TEXTS[:10], WIDTHS[:10]).save(tmp_path / "out")
    again = NumberRegressor.load(tmp_path / "out")
    assert again.epochs == 2 and type(again.epochs) is int and again.held_out == 0


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize("freeze", [False, True])
def test_a_model_of_half_precision(freeze: bool) -> None:
    given = new_backbone("bert").bfloat16()
    made = NumberRegressor(given, tokenizer_of("bert"), epochs=1, freeze=freeze).fit(TEXTS[:20], WIDTHS[:20])
    kinds = {name.startswith("backbone."): weight.dtype for name, weight in made.model_.named_parameters()}
    assert kinds == {True: torch.bfloat16 if freeze else torch.float32, False: torch.float32}
    assert np.isfinite(made.predict(TEXTS[:3])).all() and given.dtype == torch.bfloat16


def test_frozen_backbone_and_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS[:20], "width": WIDTHS[:20]})
    made = regressor(freeze=True).fit(frame["text"], frame["width"])
    assert not any(weight.requires_grad for weight in made.model_.backbone.parameters())
    assert (made.predict(frame[["text"]]) == made.predict(TEXTS[:20])).all()


# In scikit-learn.

ROWS = "rows of a matrix are written as texts here, so that"
NOT_APPLIED = {
    "check_estimators_nan_inf": f"{ROWS} NaN is a word of the text",
    "check_complex_data": f"{ROWS} a complex number is a word of the text",
    "check_estimators_empty_data_messages": f"{ROWS} a row without columns is an empty text",
    "check_fit1d": f"{ROWS} a row of one number is a text, too",
    "check_fit2d_predict1d": f"{ROWS} a row of one number is a text, too",
    "check_n_features_in": "a text is one feature, whatever the number of columns that wrote it",
    "check_n_features_in_after_fitting": "a text is one feature, whatever the number of columns that wrote it",
    "check_estimator_sparse_tag": "texts are no sparse matrix",
    "check_estimator_sparse_array": "texts are no sparse matrix",
    "check_estimator_sparse_matrix": "texts are no sparse matrix",
    "check_supervised_y_2d": "a column of targets is taken as it is, without a warning",
    "check_regressors_train": "it wants a score of 0.5, which a tiny network does not reach in one pass",
}
"""Checks of scikit-learn that do not apply to texts, and why."""


class OfRows(NumberRegressor):
    """Writes the rows of a matrix as texts, because the checks of scikit-learn have matrices only."""

    def _rows(self, data: Any) -> None:
        return None

    def _texts(self, texts: Any) -> list[str]:
        rows = np.asarray(texts)
        return [" ".join(f"{cell:.3g}" for cell in np.ravel(row)[:3]) for row in rows]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False
        return tags


def saved_model(folder: Path) -> str:
    new_backbone("encoder").save_pretrained(folder)
    tokenizer_of("encoder").save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimators_unfitted",
    ],
)
def test_checks_of_scikit_learn_without_training(check: str) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    getattr(checks, check)("NumberRegressor", NumberRegressor("none"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_checks_of_scikit_learn(tmp_path: Path) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    made = OfRows(saved_model(tmp_path), epochs=1, batch_size=64, held_out=0.0)
    found = checks.check_estimator(made, expected_failed_checks=NOT_APPLIED, on_skip=None)
    failed = {one["check_name"] for one in found if one["status"] == "xfail"}
    assert failed == set(NOT_APPLIED), "a check that passes now must leave the list"
    assert sum(one["status"] == "passed" for one in found) > 30


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_tools_of_scikit_learn(tmp_path: Path) -> None:
    base = pytest.importorskip("sklearn.base")
    from sklearn.exceptions import NotFittedError
    from sklearn.metrics import r2_score
    from sklearn.model_selection import GridSearchCV

    made = NumberRegressor(saved_model(tmp_path), **SHORT)
    copy = base.clone(made)
    assert copy is not made and copy.get_params() == made.get_params() and base.is_regressor(made)
    with pytest.raises(NotFittedError, match="call fit"):
        copy.predict(TEXTS)
    search = GridSearchCV(made, {"learning_rate": [1e-4, 1e-3]}, cv=2).fit(TEXTS[:20], WIDTHS[:20])
    assert search.best_params_["learning_rate"] in (1e-4, 1e-3)
    guess = search.predict(TEXTS[:20])
    assert search.best_estimator_.score(TEXTS[:20], WIDTHS[:20]) == pytest.approx(r2_score(WIDTHS[:20], guess))


def test_scikit_learn_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; import numerate; made = numerate.NumberRegressor('x', epochs=2)\n"
    )
    code += "assert repr(made) == \"NumberRegressor(model='x', epochs=2)\", made\n"
    code += "try:\n    made.predict(['a'])\nexcept numerate.errors.NumerateError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "call fit(texts, y) first" in done.stdout, done.stderr
    assert "NumberRegressor" in dir(numerate)


def test_a_model_that_is_not_there_is_named() -> None:
    with pytest.raises(
        ValueError, match="the model 'no/such-model' cannot be loaded, give a folder or a Hub name"
    ) as found:
        numerate.NumberRegressor("no/such-model").fit(["5 km", "6 km"], [1.0, 2.0])
    assert "\n" not in str(found.value)
