"""Synthetic cardiac magnetic resonance reports, each with a table of its measurements.

They replace the clinical data of Spithourakis & Riedel (2018), 11,170 / 1,625 / 3,220 private reports of a London
hospital. **No report is real, and none was written from a real one.** Results on them describe models on texts of this
kind, not on patients' records.

Like the private data, as far as the paper describes it: the number of records, about 210 tokens per report, about 4.3 %
numerals, a median number near 59.5, numbers up to 1e7 (accession numbers), and words and numerals outside a vocabulary
of 1,000 types. Like real patients: volumes, masses and dimensions depend on sex, age, body size and disease; stroke
volume and ejection fraction follow from the stated volumes; body surface area is Mosteller's formula; the contrast dose
depends on weight.

A report depends on seed, split and index only: data sets of any size can be streamed, and splits share no random state.
"""

from __future__ import annotations

import bisect
import functools
import math
import random
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from numerate.reading.plain import raw_tokens
from numerate_lab.engine.paper_tables import load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SIZES", "clinical_report", "clinical_reports", "phrases"]

SIZES = {"train": 11_170, "dev": 1_625, "test": 3_220}
"""Number of records in each split of the paper."""
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_POOL = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"<(\w+)>")


@functools.cache
def phrases() -> dict[str, Any]:
    """Diseases, measurements, word lists, sentences and sections of the reports, from `clinical_phrases.yaml`."""
    return load_yaml("numerate_lab.tasks.synthetic", "clinical_phrases.yaml")


def clinical_report(index: int, split: str = "train", seed: int = 0) -> dict[str, Any]:
    """One report: `id`, `text`, `attributes` and `mentions`.

    `attributes` is the table: `sex`, `disease` and numbers at the precision of the text. `mentions` lists the numbers
    in the text as `[attribute, start, end]`. As in a hospital, the table has more numbers than the text.

    Example:
        >>> report = clinical_report(0)
        >>> table = report["attributes"]
        >>> table["lv_sv"] == round(table["lv_edv"] - table["lv_esv"], 1)
        True
        >>> name, start, end = report["mentions"][0]
        >>> float(report["text"][start:end]) == table[name]
        True
    """
    if split not in SIZES:
        raise ValueError(f"split must be one of {', '.join(SIZES)}, got {split=}")
    if index < 0:
        raise ValueError(f"index must not be negative, got {index=}")
    rng = random.Random(f"numerate clinical {seed} {split} {index}")  # noqa: S311 (synthetic data, not keys)
    table, written = _patient(rng)
    text, mentions = _numbered(_compose(rng, table), written)
    return {"id": f"{split}-{index}", "text": text, "attributes": table, "mentions": mentions}


def clinical_reports(split: str = "train", count: int | None = None, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Streams the reports of a split; by default as many as in the paper."""
    if split not in SIZES:
        raise ValueError(f"split must be one of {', '.join(SIZES)}, got {split=}")
    return (clinical_report(index, split, seed) for index in range(SIZES[split] if count is None else count))


def _patient(rng: random.Random) -> tuple[dict[str, Any], dict[str, str]]:
    """The table of a random patient, and its numbers as written in the text."""
    diseases = phrases()["diseases"]
    name = rng.choices(list(diseases), [disease["share"] for disease in diseases.values()])[0]
    disease, man = SimpleNamespace(**diseases[name]), rng.random() < 0.6
    age = min(max(rng.gauss(disease.age, 14), 17), 92)
    height = rng.gauss(176, 7) if man else rng.gauss(163, 6.5)
    weight = min(max(math.exp(rng.gauss(math.log(26.2), 0.15)), 17), 48) * (height / 100) ** 2
    bsa = math.sqrt(height * weight / 3600)
    # Hearts shrink with age; both ventricles share this random factor.
    build = math.exp(rng.gauss(0, 0.11)) * (1 - 0.002 * (age - 50)) * bsa
    decimals = 1 if rng.random() < 0.08 else 0
    ef = min(max(rng.gauss(disease.ef, disease.ef_spread), 10), 85)
    edv = round((82 if man else 74) * build * disease.volume * math.exp(rng.gauss(0, 0.06)), decimals)
    esv = round(edv * (1 - ef / 100), decimals)
    right_ef = min(max(rng.gauss(disease.right_ef + 0.25 * (ef - disease.ef), 5), 15), 80)
    rv_edv = round((86 if man else 75) * build * disease.right * math.exp(rng.gauss(0, 0.06)), decimals)
    rv_esv = round(rv_edv * (1 - right_ef / 100), decimals)
    systolic = rng.gauss(124, 14) + 0.45 * (age - 50) + (4 if man else 0)
    has_scar = rng.random() < disease.scarred
    values = {
        "age": (age, 0), "height": (height, 0), "weight": (weight, 1 if rng.random() < 0.1 else 0), "bsa": (bsa, 2),
        "heart_rate": (min(max(rng.gauss(69, 11) + 0.3 * (60 - ef), 38), 150), 0),
        "systolic": (systolic, 0), "diastolic": (0.42 * systolic + rng.gauss(24, 6), 0),
        "lv_edv": (edv, decimals), "lv_esv": (esv, decimals), "lv_sv": (edv - esv, decimals),
        "lv_ef": (100 * (edv - esv) / edv, 1 if rng.random() < 0.06 else 0),
        "lv_mass": ((68 if man else 54) * bsa * disease.mass * math.exp(rng.gauss(0, 0.13)), 0),
        "rv_edv": (rv_edv, decimals), "rv_esv": (rv_esv, decimals), "rv_ef": (100 * (rv_edv - rv_esv) / rv_edv, 0),
        "wall": (max(disease.wall * math.exp(rng.gauss(0, 0.13)) + (0.6 if man else -0.4), 4), rng.random() < 0.3),
        "la_area": (max((11.5 * bsa + 0.05 * (age - 50)) * disease.atrium * math.exp(rng.gauss(0, 0.12)), 9), 0),
        "aortic_root": (rng.gauss(31, 2.8) + 6 * (bsa - 1.9) + 0.1 * (age - 50) + (1.5 if man else -1), 0),
        "scar": (max(disease.scar * math.exp(rng.gauss(0, 0.5)), 1) if has_scar else 0, 0),
        "contrast_dose": (weight * rng.choice((0.1, 0.2, 0.2)), 0),
        "drug_dose": (rng.choice((1.25, 2.5, 5, 10, 20, 40, 75, 80)), None),
        "year": (rng.randint(1996, 2016), 0),
        "accession": (rng.randint(100_000, 9_999_999), 0),
    }  # fmt: skip
    written = {
        key: f"{value:g}" if places is None else f"{value:.{places:d}f}" for key, (value, places) in values.items()
    }
    table: dict[str, Any] = {"sex": rng.choice(("man", "male", "gentleman") if man else ("woman", "female", "lady"))}
    table |= {"disease": name} | {key: float(text) if "." in text else int(text) for key, text in written.items()}
    return table, written


def _compose(rng: random.Random, table: Mapping[str, Any]) -> str:
    """A report with `<attribute>` in place of its numbers."""
    disease, known = table["disease"], phrases()
    words = _described(rng, table)
    sections: dict[str, list[str]] = {name: [] for name in known["headings"]}
    for group in known["measured"]:
        if rng.random() < group["share"]:
            sections[group["section"]].append(rng.choice(group["wordings"]))
    scars = known["scars"]["ischaemic" if disease == "ischaemic" else "other"]
    sections["tissue"].append(rng.choice(scars if table["scar"] else known["unscarred"]))
    sections["conclusion"].append(rng.choice(known["conclusions"][disease]))
    sections = {name: [_expanded(rng, one, words) for one in some] for name, some in sections.items()}
    length = sum(len(raw_tokens(one)) for some in sections.values() for one in some)
    target = rng.gauss(210, 45)
    left = [(name, sentence) for name, some in known["fillers"].items() for sentence in some]
    rng.shuffle(left)
    while length < target and left:
        name, sentence = left.pop()
        sentence = _expanded(rng, sentence, words)
        place = rng.randrange(len(sections[name]) + 1) if name != "conclusion" else len(sections[name])
        sections[name].insert(place, sentence)
        length += len(raw_tokens(sentence))
    headed = rng.random() < 0.6
    parts = []
    for name in rng.choice(known["orders"]):
        if sections[name]:
            heading = f"{rng.choice(known['headings'][name])}: " if headed or name == "conclusion" else ""
            parts.append(heading + " ".join(sections[name]))
    return "\n".join(parts)


def _described(rng: random.Random, table: Mapping[str, Any]) -> dict[str, str]:
    """Words that describe the numbers, such as `mildly dilated`."""
    words = {"sex": table["sex"]}
    for name, level in phrases()["levels"].items():
        value = table[level["of"]] / (table["bsa"] if level["indexed"] else 1)
        words[name] = rng.choice(level["words"][bisect.bisect_right(level["bounds"], value)])
    return words


def _expanded(rng: random.Random, sentence: str, words: Mapping[str, str]) -> str:
    """A sentence with its choices and pools replaced by random words."""
    count = 1
    while count:
        sentence, count = _CHOICE.subn(lambda match: rng.choice(match[1].split("|")), sentence)
    sentence = _POOL.sub(lambda match: words.get(match[1]) or rng.choice(phrases()["pools"][match[1]]), sentence)
    sentence = re.sub(r" +(?=[ .,])", "", sentence).strip()
    return sentence[:1].upper() + sentence[1:]


def _numbered(text: str, written: Mapping[str, str]) -> tuple[str, list[list[Any]]]:
    """The text with its numbers, and their positions."""
    mentions: list[list[Any]] = []
    shift = 0

    def number(match: re.Match[str]) -> str:
        nonlocal shift
        name, value, start = match[1], written[match[1]], match.start() + shift
        mentions.append([name, start, start + len(value)])
        shift += len(value) - len(match[0])
        return value

    return _NUMBER.sub(number, text), mentions
