"""Times of halves, laps and legs with the time of all: `First half 1:42:10. Second half 1:47:35. Finish 3:39:45`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import CLOCK, TIMES, VALUES, stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["clock_sums"]

_TIME = regex(
    r"(?<![\w:.,–-])(?:(?P<h>\d{1,2}):)?(?P<m>\d{1,2}):(?P<s>[0-5]\d(?:\.\d{1,3})?)(?![\d:]|[.,]\d| ?[ap]\.?m\b)"
)
_TOTAL = regex(
    r"\b(?:finish\w*|total\w*|overall|in all|altogether|together|combined|aggregate|final time|final result|sum"
    r"|makes?|giving|gesamt\w*"
    r"|zusammen|au total|temps final|en total|to win|official time|whole|all told|net time|gun time|end time"
    r"|time of)\b[^.;!?]{0,40}$"
)
_TOTAL_BEHIND = regex(r"(?: [a-z]+){0,2} (?:in all|in total|altogether|overall|together|combined|all told)\b")
_HALVES = regex(r"\bhalf\b.*\b(?:second|other|back) half\b|\bhalves\b|\bhalfway\b.*\b(?:home|second half|back)\b")
_PARTS = regex(
    r"\b(?:splits?|laps?|legs?|rounds?|stages?|sections?|parts?|heats?|acts?|runs?|movements?|sides?|tracks?|half"
    r"|halves|halfway|out"
    r"|back|first|second|étapes?|etappen?|hälfte|mitad|moitié)\b"
)
_CHANGES = regex(r"\b(?:swim|swam|bike|biked|cycl\w+|triathlon|duathlon|transition|t1|t2|ironman)\b")
"""Between disciplines, time passes that is not told."""
_OTHER = regex(
    r"\b(?:average|best|record|pb|pbs|personal|previous|last (?:year|time)|target|limit|cut-?off|ahead|behind"
    r"|faster|slower|per|pace"
    r"|penalt\w+|break|pause|stopp\w+|neutrali\w+|start(?:ed|ing)? at|o['’]clock|depart\w*|arriv\w*|opens?|closes?"
    r"|bonus"
    r"|each|respectively|km mark|mile mark|kickoff|kick-off|score|goals?|minute)\b"
)
MOST_PARTS = 8


@group_gate(
    CLOCK,
    stems("finish total overall in_ altogether together combined aggregate final sum make giving gesamt zusammen"
          " temps win"
          " official whole all net gun end time"),
    stems("split lap leg round stage section part heat act run movement side track half halv swim swam bik cycl"
          " out back first"
          " étape etappe hälfte mitad moitié triathlon"),
    TIMES[4] | VALUES[2],
)  # fmt: skip
def clock_sums(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """The last time is that of all: the sum of the ones before, which are told as halves or laps."""
    offset, end = sentences[0].offset, sentences[-1].offset + len(sentences[-1].text)
    lower = text[offset:end].lower()
    times = list(_TIME.finditer(lower))
    if len(lower) != end - offset or not 3 <= len(times) <= MOST_PARTS + 1:
        return
    *parts, total = times
    lead = lower[parts[-1].end() : total.start()]
    if not (_TOTAL.search(lead) or _TOTAL_BEHIND.match(lower, total.end())):
        return
    begin = max(0, parts[0].start() - 60)
    words = lower[begin : total.start()]
    if not (_PARTS.search(words) or _CHANGES.search(words)) or _OTHER.search(words):
        return
    if any(each["h"] and not total["h"] for each in parts) or any(
        lower.endswith(" at ", 0, each.start()) for each in parts
    ):
        return
    real, said = sum(map(_seconds, parts)), _seconds(total)
    least = 0.5 * len(parts) if not all("." in each["s"] for each in times) else 0.011 * len(parts)
    if abs(real - said) <= least or not max(map(_seconds, parts)) < said < 2 * real:
        return
    meant = _written(real, total)
    is_slip = _is_exchange(total[0], meant) or _differs_once(total[0], meant)
    if _CHANGES.search(words):
        is_slip = _is_exchange(total[0], meant) or (said < real and is_slip)
    is_whole = _HALVES.search(words) is not None and len(parts) == 2
    if not (is_slip or is_whole):
        return
    start = total.start() + offset
    others = [{"text": each[0], "start": each.start() + offset, "end": each.end() + offset} for each in parts]
    yield Finding(
        rule="sum",
        message=f"{' + '.join(each[0] for each in parts)} = {meant}, not {total[0]}.",
        written=text[start : start + len(total[0])],
        meant=meant,
        span=(start, start + len(total[0])),
        probability=0.88,
        evidence={"value": said, "expected": round(real, 3), "others": others},
    )


def _seconds(match: re.Match[str]) -> float:
    return 3600 * int(match["h"] or 0) + 60 * int(match["m"]) + float(match["s"])


def _written(seconds: float, like: re.Match[str]) -> str:
    """Seconds in the style of a time: `3:29:45`, `24:50.3`."""
    decimals = len(like["s"].partition(".")[2])
    minutes, rest = divmod(round(seconds, decimals), 60)
    shown = f"{rest:0{3 + decimals if decimals else 2}.{decimals}f}"
    if like["h"] is None:
        return f"{int(minutes):0{len(like['m'])}}:{shown}"
    return f"{int(minutes // 60):0{len(like['h'])}}:{int(minutes % 60):02}:{shown}"


def _differs_once(one: str, other: str) -> bool:
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1


def _is_exchange(one: str, other: str) -> bool:
    """Whether two neighbouring digits, or two sides of a colon, are exchanged."""
    if len(one) != len(other) or sorted(one) != sorted(other):
        return False
    at = [index for index, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    return len(at) == 2 and one[at[0]] == other[at[1]] and at[1] - at[0] < 4
