"""Figures, tables and pages of results; docs/report.md lists them.

Functions that draw take tensors, lists or numerate objects and return a `matplotlib.figure.Figure`; `save` writes it.
Figures need `pip install "numerate[plots]"`; tables and pages of tables do not.

Example:
    >>> from numerate import report
    >>> print(report.table({"mog": [0.5], "softmax": [0.75]}, ["MdAPE"], best="min").markdown())
    |  | MdAPE |
    |---|---:|
    | mog | **0.50** |
    | softmax | 0.75 |
    <BLANKLINE>
"""

from numerate.report.curves import learning_curves, predicted_against_true
from numerate.report.figure_style import save
from numerate.report.first_digit_plots import benford, first_digit_shares, first_digits
from numerate.report.inner_maps import attention_map, state_maps
from numerate.report.number_lines import number_line
from numerate.report.pages import page
from numerate.report.reliability_plots import binomial_band, pit_histogram, reliability
from numerate.report.similarity_maps import cosine_map
from numerate.report.tables import Cell, Table, table

__all__ = [
    "Cell", "Table", "attention_map", "benford", "binomial_band", "cosine_map", "first_digit_shares", "first_digits",
    "learning_curves", "number_line", "page", "pit_histogram", "predicted_against_true", "reliability", "save",
    "state_maps", "table",
]  # fmt: skip
