"""LaTeX as a reader sees it: text, tables, and where findings stand in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from numerate.apps.check import check
from numerate.apps.documents import Document
from numerate.apps.formats.latex_lines import plain_latex
from numerate.apps.formats.opening import read_documents

if TYPE_CHECKING:
    from pathlib import Path

PAPER = r"""\documentclass[11pt]{article}
\newcommand{\n}{248}
\begin{document}
\section{Results}
We saw $n = 248$ patients (@ women, 116 men; mean age $61.4 \pm 9.8$ years, range 34--87).
% of 300 patients (10 women, 20 men)
\begin{verbatim}
31 of 124 (99 %)
\end{verbatim}
Adverse events: 31 of 124 patients (#\,\%)~\cite{lee2020}.
\begin{tabular}{lr}
\toprule
Group & $n$ \\
\midrule
A & 1{,}124 \\
B & 126 \\ \hline
C & 30 \\
Total & + \\
\bottomrule
\end{tabular}
\end{document}
"""


def found(path: Path, women: str, share: str, total: str) -> list[tuple[str, int | None, int | None, str]]:
    path.write_text(PAPER.replace("@", women).replace("#", share).replace("+", total), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    findings = sorted(check(path, model=False), key=lambda each: each.line or 0)
    for each in findings:
        if each.column is not None and each.line is not None:
            assert lines[each.line - 1][each.column - 1 :].startswith(each.written[:2])
    return [(each.rule, each.line, each.column, each.written) for each in findings]


def test_findings_stand_at_their_places_and_the_right_paper_is_silent(tmp_path: Path) -> None:
    paper = tmp_path / "paper.tex"
    assert found(paper, "132", "25.0", "1{,}280") == []
    assert found(paper, "123", "27.5", "1{,}820") == [
        ("sum", 5, 28, "123"), ("percent", 10, 37, "27.5 %"), ("total", 18, None, "1,820"),
    ]  # fmt: skip


def test_the_text_begins_and_ends_where_the_document_does(tmp_path: Path) -> None:
    paper, lake = tmp_path / "paper.tex", "The lake is 28 km (27 mi) long."
    for text, places in (
        (f"\\documentclass{{article}}\\begin{{document}}{lake}\n\n{lake}\\end{{document}}\n", [(1, 59), (3, 20)]),
        (f"\\documentclass{{article}}\n% \\begin{{document}}\n{lake}\n\\begin{{document}}{lake}\n", [(4, 36)]),
        (f"\\documentclass{{article}}\n\\begin{{document}}\n\\end{{document}}\n{lake}\n", []),
        (f"{lake}\n% \\end{{document}}\n{lake}\n\\end{{document}} {lake}\n{lake}\n", [(1, 20), (3, 20)]),
    ):
        paper.write_text(text)
        assert [(each.line, each.column) for each in check(paper, model=False)] == places, text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"The range is 34--87~km --- far.", "The range is 34–87 km — far."),
        (r"\textbf{12}\% of \num{1200}, \SI{5.2}{mm}", "12% of 1200, 5.2 mm"),
        (r"5\,000\,kg at $25^\circ$C, $10^{-3}$, H$_2$O", "5 000 kg at 25°C, 10⁻³, H₂O"),
        (r"50\% % of the old ones", "50% "),
        (r"see Table~\ref{tab:12} \citep[p.~7]{a2019}", "see Table    "),
        ("no markup in 5 km", "no markup in 5 km"),
    ],
)
def test_what_a_reader_sees(line: str, expected: str) -> None:
    assert plain_latex(line)[0] == expected


def test_a_table_that_never_ends_is_read_to_the_end(tmp_path: Path) -> None:
    file = tmp_path / "a.tex"
    file.write_text("\\begin{tabular}{lr}\nName & $x$ \\\\\nA & 5 \\\\\nB &\n 6 \\\\", encoding="utf-8")
    (table,) = (each for each in read_documents(str(file)) if isinstance(each, Document))
    assert (table.header, table.rows) == (["Name", "x"], [["A", "5"], ["B", "6"]])
