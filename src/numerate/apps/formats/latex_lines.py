"""Lines of LaTeX as a reader sees them: without commands, comments and marks of formulas, with signs as characters."""

from __future__ import annotations

import re

from numerate.apps.formats.html_characters import shifted_text

__all__ = ["plain_latex"]

MAX_MARKED = 10_000
"""Longer lines are read as they stand."""
_MARKED = re.compile(r"[\\{}$%~&]|--|``|''")
_GROUP = r"\{[^{}]*\}"
_HIDDEN = (
    r"cite[a-z]*|ref|eqref|autoref|cref|Cref|pageref|label|includegraphics|input|include|bibitem|bibliography[a-z]*|url"
    r"|vspace|hspace|begin|end|usepackage|documentclass|newcommand|renewcommand|setlength|setcounter|cmidrule|cline"
    r"|footnotemark|phantom|rule|multirow"
)
"""Commands whose arguments are no text."""
_SIGNS = {
    "times": "×", "pm": "±", "cdot": "·", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "approx": "≈", "sim": "~",
    "mu": "µ", "micro": "µ", "degree": "°", "circ": "°", "euro": "€", "EUR": "€", "pounds": "£", "textsterling": "£",
    "texteuro": "€", "ldots": "…", "dots": "…", "Omega": "Ω", "ohm": "Ω", "AA": "Å", "textendash": "–", "to": "→",
    "textemdash": "—", "textdegree": "°", "textmu": "µ", "celsius": "°C", "percent": "%", "lt": "<", "gt": ">",
    "neq": "≠", "quad": " ", "qquad": " ", "textasciitilde": "~", "par": "\n", "newline": "\n", "item": "\n",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "lambda": "λ", "sigma": "σ", "chi": "χ",
    "kappa": "κ", "pi": "π", "eta": "η",
}  # fmt: skip
_MARKUP = re.compile(
    r"(?P<comment>(?<!\\)%.*)"
    rf"|(?P<heading>\\(?:part|chapter|(?:sub)*section|paragraph|title|caption)\*?(?:\[[^\]]*\])?\{{)"
    rf"|\\(?P<hidden>{_HIDDEN})(?![A-Za-z])\*?(?:\([^)]*\)|\[[^\]]*\]|{_GROUP})*"
    rf"|\\multicolumn{_GROUP}{_GROUP}"
    r"|\\(?:num|ang)(?:\[[^\]]*\])?(?=\{)"
    rf"|\\(?:SI|qty)(?:\[[^\]]*\])?\{{(?P<amount>[^{{}}]*)\}}\{{"
    r"|(?P<degree>\^\{?\\circ\}?(?:\{\})?)"
    r"|(?P<shift>[\^_])(?:\{(?P<shifted>[-+−]?[0-9]+)\}|(?P<digit>[0-9]))"
    r"|\\(?P<name>[A-Za-z]+)\*?(?:\{\})?"
    r"|(?P<line>\\\\\*?(?:\[[^\]]*\])?)"
    r"|\\(?P<space>[,;: ])|\\(?P<nothing>[!()\[\]@/-])|\\(?P<escape>[^A-Za-z])"
    r"|\{(?P<mark>[,.])\}|(?P<dash>---?)|(?P<quote>``|'')"
    r"|(?P<tie>~)|[{}$]"
)


def plain_latex(line: str) -> tuple[str, list[tuple[int, int]]]:
    r"""The text of a line, and where its pieces were: offset in the text, column in the line (from 1).

    Example:
        >>> plain_latex(r"A share of 12.5\,\% ($n = 31$ of 248; 95\% CI 8.8--17.2)~\cite{lee}; % or 13")[0]
        'A share of 12.5 % (n = 31 of 248; 95% CI 8.8–17.2)  ; '
        >>> plain_latex(r"At $-80\,^{\circ}$C, $5.6 \times 10^{14}$ \textbf{Hz}; \SI{5}{km}, 1{,}200")[0]
        'At -80 °C, 5.6 × 10¹⁴ Hz; 5 km, 1,200'
        >>> plain_latex(r"It cost \$5")
        ('It cost $5', [(0, 1), (9, 11)])
    """
    if len(line) > MAX_MARKED or not _MARKED.search(line):
        return line, [(0, 1)]
    parts: list[str] = []
    places = [(0, 1)]
    size = start = 0
    is_heading = False
    for match in _MARKUP.finditer(line):
        shown = _shown(match)
        is_heading |= match["heading"] is not None
        parts += (line[start : match.start()], shown)
        size += match.start() - start + len(shown)
        start = match.end()
        places.append((size, start + 1))
    text = "".join((*parts, line[start:]))
    return (f"{text}\n" if is_heading else text), places


def _shown(match: re.Match[str]) -> str:
    """What a reader sees of a piece of markup."""
    if match["name"] is not None:
        return _SIGNS.get(match["name"], "")
    if match["shift"]:
        return shifted_text(match["shifted"] or match["digit"], "sup" if match["shift"] == "^" else "sub")
    if match["amount"] is not None:
        return f"{match['amount']} "
    if match["space"] or match["tie"] or match["hidden"]:
        return " "
    if match["degree"]:
        return "°"
    if match["dash"]:
        return "—" if len(match["dash"]) == 3 else "–"
    if match["quote"]:
        return '"'
    if match["heading"] or match["line"]:
        return "\n"
    return match["escape"] or match["mark"] or ""
