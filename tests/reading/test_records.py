"""Reader `records`: values, key paths, malformed text, and agreement with `json.loads`."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerate import find, render
from numerate.reading.records import MAX_PATH, RecordsReader

CASES = [
    # plain values
    ("5", [("5", 5.0, "")]),
    ("-0.0", [("-0.0", -0.0, "")]),
    ("[1.0]", [("1.0", 1.0, "[0]")]),
    ("[1e5, 1E+05, 1.5e-09]", [("1e5", 1e5, "[0]"), ("1E+05", 1e5, "[1]"), ("1.5e-09", 1.5e-9, "[2]")]),
    ("[.5, -.5, +.5]", [(".5", 0.5, "[0]"), ("-.5", -0.5, "[1]"), ("+.5", 0.5, "[2]")]),
    ("[5., -5., 5.e3]", [("5.", 5.0, "[0]"), ("-5.", -5.0, "[1]"), ("5.e3", 5000.0, "[2]")]),
    ("[+3, 007]", [("+3", 3.0, "[0]"), ("007", 7.0, "[1]")]),
    ("[0x1F, -0xff]", [("0x1F", 31.0, "[0]"), ("-0xff", -255.0, "[1]")]),
    ("[1e0, 1e-0, 1e+00]", [("1e0", 1.0, "[0]"), ("1e-0", 1.0, "[1]"), ("1e+00", 1.0, "[2]")]),
    ("[0e5, -0E-7, 1e999, 1e-999]", [("0e5", 0.0, "[0]"), ("-0E-7", -0.0, "[1]"), ("1e999", math.inf, "[2]"),
                                     ("1e-999", 0.0, "[3]")]),
    # escapes that are no character
    ('{"\\UFFFFFFFF": 1}', [("1", 1.0, '["\\\\UFFFFFFFF"]')]),
    # specials
    ("[NaN, Infinity, -Infinity]", [("NaN", math.nan, "[0]"), ("Infinity", math.inf, "[1]"),
                                    ("-Infinity", -math.inf, "[2]")]),
    ("{'a': nan, 'b': [inf, -inf]}", [("nan", math.nan, "a"), ("inf", math.inf, "b[0]"), ("-inf", -math.inf, "b[1]")]),
    ("NaN", [("NaN", math.nan, "")]),
    ("nan bread, inf", []),
    ("{nan: 1, inf : 2}", [("1", 1.0, "nan"), ("2", 2.0, "inf")]),
    ("[banana, info, np.nan, nano]", []),
    ("[true, false, null, None, True, 4]", [("4", 4.0, "[5]")]),
    # paths
    ('{"a": {"b": [1, {"c": 2}]}}', [("1", 1.0, "a.b[0]"), ("2", 2.0, "a.b[1].c")]),
    ("{'description': {'planet0': {'m': 2.38}}}", [("2.38", 2.38, "description.planet0.m")]),
    ('{"data": [[1,2],[3,4]]}', [("1", 1.0, "data[0][0]"), ("2", 2.0, "data[0][1]"), ("3", 3.0, "data[1][0]"),
                                 ("4", 4.0, "data[1][1]")]),
    ("[[[1, 2], [3, 4]], [[5]]]", [("1", 1.0, "[0][0][0]"), ("2", 2.0, "[0][0][1]"), ("3", 3.0, "[0][1][0]"),
                                   ("4", 4.0, "[0][1][1]"), ("5", 5.0, "[1][0][0]")]),
    ("[[], [], 1, [], [2]]", [("1", 1.0, "[2]"), ("2", 2.0, "[4][0]")]),
    ('[{"a": 1}, {"a": 2}]', [("1", 1.0, "[0].a"), ("2", 2.0, "[1].a")]),
    ('{"my key": 1, "a.b": 2, "c[0]": 3, "": 4}', [("1", 1.0, '["my key"]'), ("2", 2.0, '["a.b"]'),
                                                   ("3", 3.0, '["c[0]"]'), ("4", 4.0, '[""]')]),
    ('{"x": {"12": 1, "größe": 2}}', [("1", 1.0, 'x["12"]'), ("2", 2.0, "x.größe")]),
    (r'{"a\u0041": 1, "q\"": 2, "\ud800": 3}', [("1", 1.0, "aA"), ("2", 2.0, r'["q\""]'), ("3", 3.0, r'["\ud800"]')]),
    (r"""{'it\'s': 1, 'a"b': 2, '\x41': 3}""", [("1", 1.0, """["it's"]"""), ("2", 2.0, r'["a\"b"]'), ("3", 3.0, "A")]),
    ("{u'key': 1, b\"k2\": 2}", [("1", 1.0, "key"), ("2", 2.0, "k2")]),
    ("{a: 1, b_2 : [2]}", [("1", 1.0, "a"), ("2", 2.0, "b_2[0]")]),
    ("{1: 2, 3: [4]}", [("1", 1.0, ""), ("2", 2.0, '["1"]'), ("3", 3.0, ""), ("4", 4.0, '["3"][0]')]),
    ("{'a': (1, 2)}", [("1", 1.0, "a[0]"), ("2", 2.0, "a[1]")]),
    ("{'t': 10:30}", [("10", 10.0, "t"), ("30", 30.0, "t")]),
    # strings
    ("""["12", '13', "a 14", 15]""", [("15", 15.0, "[3]")]),
    (r'["say \"16\" now", 17]', [("17", 17.0, "[1]")]),
    (r'["ends in \\", 18]', [("18", 18.0, "[1]")]),
    ('{"date": "2019-12-31", "n": 1}', [("1", 1.0, "n")]),
    ("don't take 5 o'clock", [("5", 5.0, "")]),
    # several records
    ('{"a": 1}\n{"a": 2}\n[3]\n4', [("1", 1.0, "a"), ("2", 2.0, "a"), ("3", 3.0, "[0]"), ("4", 4.0, "")]),
    ('{"a": 1}{"a": 2}', [("1", 1.0, "a"), ("2", 2.0, "a")]),
    # text outside brackets
    ("mass 5.5kg at x=-3, planet7", [("5.5", 5.5, ""), ("-3", -3.0, "")]),
    ("3-2 and 2019-12-31 and --5", [("3", 3.0, ""), ("2", 2.0, ""), ("2019", 2019.0, ""), ("12", 12.0, ""),
                                    ("31", 31.0, ""), ("5", 5.0, "")]),
    ("1.2.3", [("1.2", 1.2, ""), ("3", 3.0, "")]),
    # broken text
    ("[1, 2,]", [("1", 1.0, "[0]"), ("2", 2.0, "[1]")]),
    ("[1,,2]", [("1", 1.0, "[0]"), ("2", 2.0, "[2]")]),
    ('{"a": [1, 2, "b": 3', [("1", 1.0, "a[0]"), ("2", 2.0, "a[1]"), ("3", 3.0, "a[2]")]),
    ('{"a": [1, 2}, [3]', [("1", 1.0, "a[0]"), ("2", 2.0, "a[1]"), ("3", 3.0, "[0]")]),
    ("]}) 1 ] [2", [("1", 1.0, ""), ("2", 2.0, "[0]")]),
    ('{"a": 1 "b": 2}', [("1", 1.0, "a"), ("2", 2.0, "b")]),
    ('["open 1, 2\n3]', [("3", 3.0, "[1]")]),
    ('["open 1, 2', []),
    ("[1 2. 3]", [("1", 1.0, "[0]"), ("2.", 2.0, "[1]"), ("3", 3.0, "[2]")]),
    ("[[1. 2.]\n [3. nan]]", [("1.", 1.0, "[0][0]"), ("2.", 2.0, "[0][1]"), ("3.", 3.0, "[1][0]"),
                              ("nan", math.nan, "[1][1]")]),
    ("[1 kg, 2 kg]", [("1", 1.0, "[0]"), ("2", 2.0, "[1]")]),
    ("[foo, 1, bar, 2]", [("1", 1.0, "[1]"), ("2", 2.0, "[3]")]),
    ("{1, 2}", [("1", 1.0, ""), ("2", 2.0, "")]),
    ("[٣, １２, ½, 5]", [("5", 5.0, "[3]")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[repr(row[0]) for row in CASES])
def test_values_and_paths(text, expected):
    numerals = find(text, reader="records")
    assert [(n.text, repr(n.value), n.path) for n in numerals] == [(t, repr(v), p) for t, v, p in expected]
    for n in numerals:
        assert text[n.start : n.end] == n.text == render(n.style, n.value)
        letters = n.text.lower().lstrip("+-")
        assert n.special == (repr(n.value) if letters.startswith(("nan", "inf")) else None)
        assert n.kind == "quantity"


def test_render_in_the_style_of_a_number():
    styles = {n.text: n.style for n in find("[1.50, 5., .5, 1E+05, 0x0F, NaN]", reader="json")}
    assert [render(style, 2.0) for style in list(styles.values())[:4]] == ["2.00", "2.", "2.0", "2E+00"]
    assert render(styles["0x0F"], 2.0) == "0x02"
    assert render(styles["NaN"], -math.inf) == "-Infinity"


_PIECE = re.compile(r'\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[]+)')


def walk(record, path):
    """The value at a path of the reader."""
    for index, quoted, name in _PIECE.findall(path):
        record = record[int(index)] if index else record[json.loads(quoted) if quoted else name]
    return record


def numbers_in(record):
    if isinstance(record, dict):
        return [x for value in record.values() for x in numbers_in(value)]
    if isinstance(record, list):
        return [x for value in record for x in numbers_in(value)]
    return [] if isinstance(record, (str, bool, type(None))) else [float(record)]


RECORDS = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.booleans(), st.sampled_from([None, 0, 2]))
def test_agrees_with_json(record, ascii_only, indent):
    text = json.dumps(record, ensure_ascii=ascii_only, indent=indent)
    numerals = find(text, reader="records")
    # compare repr, because NaN != NaN and -0.0 == 0.0
    assert [repr(n.value) for n in numerals] == [repr(x) for x in numbers_in(json.loads(text))]
    for n in numerals:
        assert repr(float(walk(json.loads(text), n.path))) == repr(n.value)
        assert render(n.style, n.value) == n.text


@settings(max_examples=60, deadline=None)
@given(RECORDS)
def test_agrees_with_python_repr(record):
    numerals = find(repr(record), reader="records")
    outside = isinstance(record, float) and not math.isfinite(record)  # a lone `nan` is a word
    assert [repr(n.value) for n in numerals] == ([] if outside else [repr(x) for x in numbers_in(record)])
    for n in numerals:
        assert repr(float(walk(record, n.path))) == repr(n.value)


def test_deep_nesting():
    depth = 5_000
    numerals = find("[1," * depth, reader="records")
    assert len(numerals) == depth
    assert numerals[1].path == "[1][0]"
    assert numerals[-1].path.endswith("…[0]")
    assert max(len(n.path) for n in numerals) < MAX_PATH + 20
    assert find('{"a":' * depth + "1" + "}" * depth + "2", reader="records")[-1].path == ""
    assert find("[" * depth + "]" * depth + "[7]", reader="records")[0].path == "[0]"


def test_very_long_keys_and_numbers():
    key = "k" * 10_000
    numerals = find(f'{{"{key}": [{"1, " * 1000}]}}', reader="records")
    assert {len(n.path) < MAX_PATH + 20 for n in numerals} == {True}
    for text in (
        "9" * 5000,
        "0x" + "f" * 5000,
        "-0x" + "F" * 5000,
        "1e" + "9" * 5000,
        "1e-" + "9" * 5000,
        "0." + "1" * 5000,
    ):
        (n,) = find(text, reader="records")
        assert render(n.style, n.value) == text
    assert find("9" * 5000, reader="records")[0].overflow
    assert find("-0x" + "F" * 5000, reader="records")[0].value == -math.inf


def test_numerals_are_frozen_and_have_a_path():
    (n,) = RecordsReader().find("[1.5]")
    assert type(n).__name__ == "Numeral"
    assert n.to_dict()["path"] == "[0]"
    with pytest.raises(AttributeError):
        n.value = 2.0
