"""`NumberRegressor`: predicts a number from a text or a row of a table, in the manner of scikit-learn."""

from __future__ import annotations

import dataclasses
import inspect
import math
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch

from numerate.apps.regression import network
from numerate.apps.regression.network import TargetScale
from numerate.apps.regression.row_trend import Trend, fit_trend, network_share
from numerate.apps.regression.rows import row_text, table_rows
from numerate.apps.regression.user_input import (
    check_lengths,
    check_parameters,
    device_of,
    plain_value,
    probabilities,
    targets_of,
    weights_of,
)  # fmt: skip
from numerate.config import Config, ConfigError
from numerate.errors import BadInput, NumerateError
from numerate.files import write_atomically
from numerate.modeling.artefact import BASE_FOLDER, ArtefactError
from numerate.modeling.attaching import from_pretrained
from numerate.records.conformal import FEWEST, LEVELS, Calibration, stretches
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.modeling.number_model import NumberModel

__all__ = ["REGRESSOR_FILE", "NumberRegressor", "RegressorConfig"]

ROWS_HELP = "rows are a list of dicts, a DataFrame or a matrix (NumPy)"
REGRESSOR_FILE = "regressor.json"
"""File of a saved regressor, beside those of every saved model."""
_FEWEST_STEPS, _MOST_EPOCHS, _LEAST_EPOCHS = 300, 30, 3
_TARGET = "target"
"""Name of the target in the calibration."""
_QUANTILES = (0.5, *((1 - level) / 2 for level in LEVELS), *((1 + level) / 2 for level in LEVELS))
"""The median and the ends of the intervals that are calibrated."""


@dataclass(frozen=True, kw_only=True)
class RegressorConfig(Config):
    """Config that is saved beside the network.

    Attributes:
        parameters: Arguments of the constructor.
        scale: How the head sees the targets, or what the trend leaves of them.
        calibration: The stretch of the intervals.
        columns: Number of columns of the rows; 0 for texts.
        trend: The linear trend of the rows, if there is one.
    """

    kind: ClassVar[str] = "number-regressor"
    parameters: dict[str, Any]
    scale: TargetScale
    calibration: Calibration
    columns: int = 0
    trend: Trend | None = None


class NumberRegressor:
    """Regression of a number from a text or a row, with calibrated intervals, on any Hugging Face encoder or decoder.

    The numbers of the text get vectors (`numerate.attach`), a `[NUM]` behind the text asks for the target, and a
    mixture density head predicts its distribution. The whole network is trained. A part of the training texts is held
    out to calibrate the intervals (split conformal prediction), if there are at least 100.

    Rows of a table (a list of dicts, a DataFrame, or a matrix) are written as texts for the network. If a linear trend
    of the rows explains the targets, it is fitted in closed form, and the network learns what it leaves; the network
    then counts as far as held-out rows show that it knows more than the trend (`numerate.apps.regression.row_trend`).

    It has the methods of a scikit-learn estimator and works in its tools (`clone`, `cross_val_score`, `GridSearchCV`),
    but does not need scikit-learn.

    Args:
        model: A Hugging Face model, which is copied, or the name or folder of one.
        tokenizer: Its fast tokenizer, or the name or folder of one; by default that of the model.
        recipe: How numbers in the text are read and embedded; the recipe's head is not used.
        components: Number of components of the mixture.
        epochs: Passes over the training texts; by default 3, or as many as make 300 steps (at most 30).
        batch_size: Texts in a step.
        learning_rate: Learning rate of the backbone.
        number_learning_rate: Learning rate of all new weights; by default ten times `learning_rate`, at most 1e-3.
        freeze: Train only the new weights, not the backbone.
        max_length: Longest text in tokens; longer ones are cut.
        held_out: Share of the training texts that is held out for the calibration; 0 for no calibration.
        seed: Random seed. On one machine, the same seed and data give the same predictions.
        device: Where the network runs; by default on a GPU if there is one.
        verbose: Whether training prints its progress.

    Attributes:
        model_: The trained `NumberModel`.
        scale_: How the head sees the targets.
        calibration_: The stretch of the intervals.
        losses_: Loss of each step, in nats.
        trend_: The linear trend of the rows, a `Trend`; None for texts, and for rows without one.
        n_features_in_: 1, the text, or the number of columns.

    Example:
        >>> regressor = NumberRegressor("bert-base-uncased").fit(texts, prices)      # doctest: +SKIP
        >>> regressor.predict(["A flat with 3 rooms and 85 m²."])                    # doctest: +SKIP
        array([412000.])
    """

    _estimator_type = "regressor"

    def __init__(
        self,
        model: Any = "sentence-transformers/all-MiniLM-L6-v2",
        tokenizer: Any = None,
        *,
        recipe: str = "in-place",
        components: int = 16,
        epochs: int | None = None,
        batch_size: int = 16,
        learning_rate: float = 5e-5,
        number_learning_rate: float | None = None,
        freeze: bool = False,
        max_length: int = 256,
        held_out: float = 0.1,
        seed: int = 0,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.recipe = recipe
        self.components = components
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.number_learning_rate = number_learning_rate
        self.freeze = freeze
        self.max_length = max_length
        self.held_out = held_out
        self.seed = seed
        self.device = device
        self.verbose = verbose

    # Parameters, as scikit-learn handles them.

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        del deep  # no argument is an estimator
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Changes arguments of the constructor; returns the regressor."""
        names = self._names()
        for name, value in params.items():
            if name not in names:
                raise BadInput(f"NumberRegressor: unknown parameter {name!r}: {near_names(name, names)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = {name: each.default for name, each in inspect.signature(type(self).__init__).parameters.items()}
        given = {name: value for name, value in self.get_params().items() if value is not usual[name]}
        shown = (f"{name}={value!r}" if _is_plain(value) else f"{name}={type(value).__name__}(...)"
                 for name, value in given.items() if not _is_plain(value) or value != usual[name])  # fmt: skip
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's tools need to know: a regressor of texts or of rows."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor", target_tags=TargetTags(required=True), regressor_tags=RegressorTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=True, string=True),
        )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # Learning and predicting.

    def fit(self, texts: Any, y: Any) -> Self:
        """Trains a new network on texts or rows (N,) and their numbers (N,); returns the regressor.

        Args:
            texts: Strings; or the rows of a table as a list of dicts, a DataFrame or a matrix (N, columns).
            y: Finite numbers.

        Raises:
            BadInput: The texts are no strings or rows, the numbers are not finite, or there are fewer than two.
        """
        rows, targets = self._rows(texts), targets_of(y)
        self._check_table(texts)
        found = self._texts(texts) if rows is None else [row_text(row) for row in rows]
        check_lengths(found, targets)
        columns = _width(texts, rows)
        if len(found) < 2:
            raise BadInput(f"at least 2 texts are needed, got n_samples={len(found)}")
        check_parameters(self.get_params())
        fitted = None if rows is None else fit_trend(rows, targets)
        if fitted is not None:
            targets = fitted[1]  # what the trend leaves
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            order = torch.randperm(len(found)).tolist()
            held = self._held(len(found), 0.3 if fitted is None else 0.5)
            checks, order = sorted(order[:held]), sorted(order[held:])
            chosen, goals = [found[at] for at in order], targets[order]
            backbone, tokenizer = network.load_backbone(self.model, self.tokenizer, trained=not self.freeze)
            scale = TargetScale.of(goals) if fitted is None else TargetScale.standardising(goals)
            model = network.build_network(backbone, tokenizer, self.recipe, scale, self.components, chosen, goals)
            model.to(self._device())
            if self.freeze:
                model.freeze_backbone()
            steps = self._epochs(len(chosen)) * math.ceil(len(chosen) / self.batch_size)
            if fitted is not None and not held:
                steps = 0  # nothing would tell what the network adds to the trend
            self.losses_ = network.train_network(
                model, chosen, scale.seen(goals), steps=steps, batch_size=self.batch_size, max_length=self.max_length,
                learning_rate=self.learning_rate, number_learning_rate=self.number_learning_rate,
                say=print if self.verbose else None,
            )  # fmt: skip
        self.model_, self.scale_, self.columns_ = model, scale, columns
        self.n_features_in_ = self.columns_ or 1
        self.trend_ = None if fitted is None else fitted[0]
        self.calibration_ = self._calibrated([found[at] for at in checks], targets[checks])
        return self

    def predict(self, texts: Any) -> np.ndarray:
        """The median of each text's number: (N,) float64."""
        return self.predict_quantiles(texts, (0.5,))[:, 0]

    def predict_interval(self, texts: Any, level: float = 0.9) -> np.ndarray:
        """The ends of the central intervals that contain the number with probability `level`: (N, 2) float64."""
        if not isinstance(level, Real) or not 0 < level < 1:
            raise BadInput(f"level must lie between 0 and 1, got {level!r}")
        return self.predict_quantiles(texts, ((1 - level) / 2, (1 + level) / 2))

    def predict_quantiles(self, texts: Any, quantiles: Sequence[float]) -> np.ndarray:
        """Calibrated quantiles of each text's number: (N, Q) float64."""
        model, levels = self._fitted(), probabilities(quantiles)
        rows = self._rows(texts)
        self._check_kind(texts, rows)
        found = self._texts(texts) if rows is None else [row_text(row) for row in rows]
        if self.trend_ is None or rows is None:
            line = self.scale_.line(network.quantiles_of(model, found, [0.5, *levels], self.max_length))
            return self.scale_.number(self.calibration_.apply(_TARGET, levels, line[:, 1:], line[:, 0]))
        line = self._residuals(self.trend_, found, [0.5, *levels])
        apart = self.calibration_.apply(_TARGET, levels, line[:, 1:], line[:, 0])
        return self.trend_.target.number(self.trend_.at(rows)[:, None] + apart)

    def score(self, texts: Any, y: Any, sample_weight: Sequence[float] | None = None) -> float:
        """R², the share of the variance of `y` that `predict` explains: 1 is perfect, 0 is the mean of `y`."""
        truth, guess = targets_of(y), self.predict(texts)
        check_lengths(guess, truth)
        weight = weights_of(sample_weight, len(truth))
        size = max(np.abs(truth).max(initial=0), np.abs(guess).max(initial=0)) or 1.0
        truth, guess = truth / size, guess / size  # squares of 1e300 overflow
        total = (weight * (truth - np.average(truth, weights=weight)) ** 2).sum()
        wrong = (weight * (truth - guess) ** 2).sum()
        return float(1 - wrong / total) if total > 0 else float(wrong == 0)

    # Saving and loading.

    def save(self, folder: str | Path) -> None:
        """Writes network, backbone and tokenizer (safetensors and JSON) and `regressor.json` into a folder."""
        model, inside = self._fitted(), Path(folder) / BASE_FOLDER
        model.save_pretrained(folder, backbone=True)
        given = {name: plain_value(value) for name, value in self.get_params().items()}
        # Objects are not saved: a regressor that is fitted again starts from the saved backbone.
        params = {name: value for name, value in given.items() if _is_plain(value)}
        params.setdefault("model", str(inside.resolve()))
        config = RegressorConfig(
            parameters=params, scale=self.scale_, calibration=self.calibration_, columns=self.columns_,
            trend=self.trend_,
        )  # fmt: skip
        write_atomically(Path(folder) / REGRESSOR_FILE, config.to_json().encode())

    @classmethod
    def load(cls, folder: str | Path, device: str | None = None) -> Self:
        """Loads a folder that `save` wrote.

        Raises:
            ArtefactError: The folder has no regressor, or a damaged one.
        """
        file = Path(folder) / REGRESSOR_FILE
        try:
            config = RegressorConfig.from_json(file.read_text(encoding="utf-8"))
            made = cls(**config.parameters)
        except FileNotFoundError:
            raise ArtefactError(f"{folder} has no {REGRESSOR_FILE}: NumberRegressor.save writes it") from None
        except (OSError, UnicodeDecodeError, ConfigError, TypeError) as error:
            raise ArtefactError(f"{file}: {error}") from None
        made.device = device
        made.model_ = from_pretrained(folder).to(made._device()).eval()
        made.scale_, made.calibration_, made.trend_ = config.scale, config.calibration, config.trend
        made.columns_, made.n_features_in_ = config.columns, config.columns or 1
        return made

    # Details.

    def _rows(self, data: Any) -> list[dict[str, Any]] | None:
        """The rows of a table; None for texts."""
        return table_rows(data)

    @staticmethod
    def _check_table(data: Any) -> None:
        if isinstance(data, dict):
            raise BadInput(f"one dict is no table: {ROWS_HELP}, got {str(data)[:40]!r}")

    def _check_kind(self, data: Any, rows: list[dict[str, Any]] | None) -> None:
        """Whether data to predict are texts or rows, as those of the training were."""
        self._check_table(data)
        if (rows is None) == bool(self.columns_) and (not hasattr(data, "__len__") or len(data)):
            was, now = ("texts", "rows") if rows is not None else ("rows", "texts")
            raise BadInput(f"fitted on {was}, got {now}: {str(data)[:40]!r}")
        if rows and isinstance(data, np.ndarray) and data.shape[1] != self.columns_:
            raise BadInput(f"X has {data.shape[1]} columns, but the training rows had {self.columns_}")
        if self.trend_ is not None and rows and any(rows) and not self.trend_.knows(rows):
            known, given = (", ".join(map(repr, list(keys)[:5])) for keys in (self.trend_.schema.fields, rows[0]))
            raise BadInput(f"no column of the rows was there in the training: got {given}; known are {known}")

    def _texts(self, texts: Any) -> list[str]:
        """The texts as a list of strings; a matrix or a frame of one column is one, too."""
        if isinstance(texts, str) or not hasattr(texts, "__iter__"):
            raise BadInput(f"texts must be a list of strings, got {str(texts)[:40]!r}")
        if hasattr(texts, "to_numpy"):
            texts = texts.to_numpy()
        if isinstance(texts, np.ndarray) and texts.ndim == 2 and texts.shape[1] == 1:
            texts = texts[:, 0]
        found = list(texts)
        for at, text in enumerate(found):
            if not isinstance(text, str):
                raise BadInput(
                    f"texts must be strings, got {type(text).__name__} at {at}: {str(text)[:40]!r}; {ROWS_HELP}"
                )
        return [str(text) for text in found]

    def _device(self) -> torch.device:
        return device_of(self.device)

    def _held(self, count: int, most: float) -> int:
        """How many texts are held out: none if that would be too few, or more than the share `most` of them."""
        held = max(FEWEST, round(self.held_out * count)) if self.held_out else 0
        return held if held <= count * max(self.held_out, most) else 0

    def _epochs(self, count: int) -> int:
        if self.epochs is not None:
            return self.epochs
        return min(_MOST_EPOCHS, max(_LEAST_EPOCHS, math.ceil(_FEWEST_STEPS * self.batch_size / count)))

    def _calibrated(self, texts: list[str], targets: np.ndarray) -> Calibration:
        """The stretch of the intervals; before, how far the network counts beside a trend."""
        held_out = {_TARGET: len(texts)}
        found = network.quantiles_of(self.model_, texts, _QUANTILES, self.max_length)
        truth, line = self.scale_.line(self.scale_.seen(targets)), self.scale_.line(found)
        if self.trend_ is not None:
            truth, line, trend = targets, self.scale_.number(line), self.trend_.residual_quantiles(_QUANTILES)
            share = network_share(truth, line, trend, _QUANTILES)
            if share == 0:
                return Calibration(held_out=held_out)  # residuals of all rows say more than those that are held out
            self.trend_ = dataclasses.replace(self.trend_, network_share=share)
            line = self.trend_.mixed(_QUANTILES, line)
        count = len(LEVELS)
        factors = stretches(truth, line[:, 0], line[:, 1 : 1 + count], line[:, 1 + count :])
        return Calibration(stretch={} if factors is None else {_TARGET: factors}, held_out=held_out)

    def _residuals(self, trend: Trend, texts: list[str], p: Sequence[float]) -> np.ndarray:
        """Quantiles (N, Q) of what the trend leaves, before the calibration."""
        if not trend.network_share:
            return np.tile(trend.residual_quantiles(p), (len(texts), 1))
        seen = network.quantiles_of(self.model_, texts, p, self.max_length)
        return trend.mixed(p, self.scale_.number(self.scale_.line(seen)))

    def _fitted(self) -> NumberModel:
        if not hasattr(self, "model_"):
            raise _not_fitted("this NumberRegressor is not fitted yet: call fit(texts, y) first")
        return self.model_


def _width(data: Any, rows: list[dict[str, Any]] | None) -> int:
    """Number of columns of rows, which may lack some of their keys; 0 for texts."""
    if rows is None:
        return 0
    width = data.shape[1] if hasattr(data, "shape") else len({key for row in rows for key in row})
    if not width:
        raise BadInput(f"rows must have columns, got {str(data)[:40]!r}")
    return width


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _not_fitted(message: str) -> Exception:
    """An error of ours that is also scikit-learn's `NotFittedError`, if scikit-learn is installed."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return type("NotFittedError", (NumerateError, ValueError, AttributeError), {})(message)
    return type("NotFittedError", (NumerateError, NotFittedError), {})(message)
