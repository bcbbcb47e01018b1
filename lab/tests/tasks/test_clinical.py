"""Synthetic clinical reports: texts agree with their tables, and tables with the paper's statistics."""

from __future__ import annotations

import itertools
import statistics

import pytest

from numerate.backbones.word_tokenizer import WordVocabulary, is_numeral
from numerate.reading.plain import tokenize
from numerate_lab.tasks.synthetic.clinical import SIZES, clinical_report, clinical_reports, phrases


@pytest.fixture(scope="module")
def reports() -> list[dict]:
    return list(clinical_reports("train", 1500))


def column(reports: list[dict], name: str) -> list[float]:
    return [report["attributes"][name] for report in reports]


def test_numbers_of_the_text_are_in_the_table(reports: list[dict]) -> None:
    constants = {"1", "2", "3", "5", "1.5", "6", "12", "24"}
    for report in reports:
        text, table = report["text"], report["attributes"]
        rest, last = [], 0
        for name, start, end in report["mentions"]:
            assert float(text[start:end]) == table[name]
            assert not (text[start - 1 : start] + text[end : end + 1]).replace(".", "").isdigit(), (
                "the span covers the whole numeral"
            )
            rest.append(text[last:start])
            last = end
        others = [token for part in [*rest, text[last:]] for token in tokenize(part) if is_numeral(token)]
        assert set(others) <= constants, "all other numbers belong to a phrase, such as cm2 or 3 tesla"
        assert not set("[]{}<>|") & set(text), "no template is left"
        assert "  " not in text


def test_every_attribute_is_stated_somewhere(reports: list[dict]) -> None:
    stated = {name for report in reports for name, _, _ in report["mentions"]}
    units = phrases()["attributes"]
    assert stated == {*units, "drug_dose", "year", "accession"}
    assert len(units) == 20
    assert all(report["attributes"].keys() >= units.keys() for report in reports)


def test_arithmetic_of_the_table(reports: list[dict]) -> None:
    for report in reports:
        table = report["attributes"]
        assert table["lv_sv"] == pytest.approx(table["lv_edv"] - table["lv_esv"], abs=1e-9)
        assert table["lv_ef"] == pytest.approx(100 * table["lv_sv"] / table["lv_edv"], abs=0.51)
        assert table["rv_ef"] == pytest.approx(100 * (1 - table["rv_esv"] / table["rv_edv"]), abs=0.51)
        assert table["bsa"] == pytest.approx((table["height"] * table["weight"] / 3600) ** 0.5, abs=0.02)


def test_correlations_are_realistic(reports: list[dict]) -> None:
    def correlation(one: str, two: str, among: list[dict]) -> float:
        return statistics.correlation(column(among, one), column(among, two))

    healthy = [report for report in reports if report["attributes"]["disease"] == "normal"]
    assert correlation("height", "weight", reports) > 0.3
    assert correlation("systolic", "diastolic", reports) > 0.5
    assert correlation("weight", "contrast_dose", reports) > 0.3
    for name in ("lv_edv", "lv_mass", "aortic_root", "la_area"):
        assert correlation("bsa", name, healthy) > 0.3, name
    assert correlation("lv_edv", "rv_edv", healthy) > 0.7
    assert correlation("lv_edv", "lv_ef", reports) < -0.4, "large hearts have a low ejection fraction"

    def median(name: str, disease: str) -> float:
        return statistics.median(column([r for r in reports if r["attributes"]["disease"] == disease], name))

    assert median("lv_ef", "dilated") < 45 < 55 < median("lv_ef", "normal") < median("lv_ef", "hypertrophic")
    assert median("wall", "hypertrophic") > 15 > median("wall", "normal")
    assert median("rv_edv", "right heart") > 1.3 * median("rv_edv", "normal")
    assert median("scar", "ischaemic") > 10 > median("scar", "normal") == 0
    assert median("age", "ischaemic") > median("age", "athlete") + 20


def test_ranges_are_realistic(reports: list[dict]) -> None:
    ranges = {
        "age": (17, 92), "height": (135, 205), "weight": (35, 190), "lv_ef": (9, 87), "lv_edv": (50, 500),
        "heart_rate": (38, 150), "diastolic": (35, 130), "wall": (3, 40), "aortic_root": (15, 55), "scar": (0, 100),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        values = column(reports, name)
        assert low <= min(values) < max(values) <= high, name


def test_corpus_statistics_match_the_paper(reports: list[dict]) -> None:
    tokens = [tokenize(report["text"]) for report in reports]
    numbers = [float(token) for row in tokens for token in row if is_numeral(token)]
    count = sum(map(len, tokens))
    assert 200 < count / len(tokens) < 220
    assert 0.04 < len(numbers) / count < 0.047
    assert 54 < statistics.median(numbers) < 65
    assert 1e6 < max(numbers) < 1e7
    vocabulary = WordVocabulary.of((report["text"] for report in reports), 1000)
    assert len(vocabulary.words) + len(vocabulary.numerals) == 1000
    assert vocabulary.unknown_words > 50
    assert vocabulary.unknown_numerals > 300


def test_streams_are_reproducible_and_disjoint(reports: list[dict]) -> None:
    assert clinical_report(7) == reports[7]
    assert list(itertools.islice(clinical_reports("train"), 3)) == reports[:3]
    texts = {report["text"] for report in reports}
    assert len(texts) == len(reports)
    for split, seed in (("dev", 0), ("test", 0), ("train", 1)):
        assert texts.isdisjoint(report["text"] for report in clinical_reports(split, 50, seed))
    assert SIZES == {"train": 11_170, "dev": 1_625, "test": 3_220}


def test_errors_quote_the_value() -> None:
    with pytest.raises(ValueError, match="split='valid'"):
        clinical_reports("valid")
    with pytest.raises(ValueError, match="split='valid'"):
        clinical_report(0, "valid")
    with pytest.raises(ValueError, match="index=-1"):
        clinical_report(-1)


def test_word_lists_contain_no_digits() -> None:
    for name, words in phrases()["pools"].items():
        assert not any(character.isdigit() for word in words for character in word), name
        assert all(words), name
