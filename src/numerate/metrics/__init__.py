"""Metrics: perplexity, numeric errors, calibration, ranking, text answers and significance tests.

All are functions of tensors or lists, computed in float64; docs/metrics.md lists them with their formulas.

Example:
    >>> from numerate import metrics
    >>> print(metrics.mdape([50.0, 3.0, 7.0], [100.0, 3.0, 0.0]))
    25 (n=2, 1 skipped)
"""

from numerate.metrics.answers import answer_tokens, exact_match, pair_f1, spans_f1, token_f1
from numerate.metrics.calibration import (
    calibration_error,
    coverage,
    crps,
    crps_of_quantiles,
    crps_of_samples,
    expected_calibration_error,
    pinball,
    pit,
    pit_coverage,
)
from numerate.metrics.perplexity import Perplexity, perplexities, perplexity
from numerate.metrics.point_errors import (
    adjusted_r2,
    exponent_accuracy,
    log_mae,
    log_smape,
    mae,
    mape,
    mdae,
    mdape,
    order_of_magnitude,
    r2,
    right_digit_shares,
    rmse,
    sign_accuracy,
    smape,
)
from numerate.metrics.ranks import hit_at, roc_auc
from numerate.metrics.score import MetricError, Score
from numerate.metrics.significance import (
    Interval,
    Test,
    binomial_test,
    bootstrap,
    mcnemar,
    mean_interval,
    paired_t_test,
    sign_test,
    t_test,
)

__all__ = [
    "Interval", "MetricError", "Perplexity", "Score", "Test", "adjusted_r2", "answer_tokens", "binomial_test",
    "bootstrap", "calibration_error", "coverage", "crps", "crps_of_quantiles", "crps_of_samples", "exact_match",
    "expected_calibration_error", "exponent_accuracy", "hit_at", "log_mae", "log_smape", "mae", "mape", "mcnemar",
    "mdae", "mdape", "mean_interval", "order_of_magnitude", "pair_f1", "paired_t_test", "perplexities", "perplexity",
    "pinball", "pit", "pit_coverage", "r2", "right_digit_shares", "rmse", "roc_auc", "sign_accuracy", "sign_test",
    "smape", "spans_f1", "t_test", "token_f1",
]  # fmt: skip
