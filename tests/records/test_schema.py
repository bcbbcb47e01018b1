"""Inferred schemas, and normalised texts of records."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from numerate.processing.scaling import field_of
from numerate.reading import make_reader
from numerate.records.field_table import Counts
from numerate.records.learning import learn
from numerate.records.schema import MAX_TEXT, FieldError, Schema, path_of

NESTED: list[dict[str, Any]] = [
    {"d": {"planet0": {"m": 1.5 + i, "a b": 2.0 * i}}, "data": [[0.5 * i, -1.0], [3.0, 4.0 * i]], "9": i}
    for i in range(9)
]


def test_paths_equal_those_of_the_reader() -> None:
    schema = learn(NESTED)
    for record in NESTED:
        found = {numeral.path: numeral.value for numeral in make_reader("records").find(schema.write(record))}
        assert found == {
            "d.planet0.m": record["d"]["planet0"]["m"], 'd.planet0["a b"]': record["d"]["planet0"]["a b"],
            "data[0][0]": record["data"][0][0], "data[0][1]": -1.0,
            "data[1][0]": 3.0, "data[1][1]": record["data"][1][1], '["9"]': record["9"],
        }  # fmt: skip
    assert set(schema.fields) == {field_of(path) for path in found}


def test_text_is_json_with_the_same_values() -> None:
    rows = [
        {"s": f'a "{i % 3}" [NUM]\n', "x": i, "t": "2024-01-01" if i else "2025-01-01", "b": i > 4} for i in range(9)
    ]
    schema = learn(rows)
    text = schema.write(rows[0])
    assert json.loads(text) == {"s": 'a "0" [NUM]', "x": 0, "t": 1735689600, "b": "false"}
    assert "[NUM]" not in text, "a literal [NUM] in a text is escaped"


def test_kinds_of_field() -> None:
    rows: list[dict[str, Any]] = [
        {
            "number": i, "csv": str(i / 7), "text": "ab"[i % 2], "time": f"2024-01-{i + 1:02d}", "c": 3.0,
            "id": f"p{i}", "note": f"seen {i}", "same": "x", "never": None, "half": None if i % 2 else float(i),
            "flag": i % 3 == 0, "mixed": "<1" if i == 5 else i, "day": "2024-05-05", "nan": math.nan,
        }
        for i in range(30)
    ]  # fmt: skip
    del rows[7]["half"]
    rows.append({})
    fields = learn(rows).fields
    assert {path: each.holds for path, each in fields.items()} == {
        "number": "number", "csv": "number", "text": "text", "time": "time", "c": "constant", "id": "name",
        "note": "text", "same": "text", "never": "empty", "half": "number", "flag": "text", "mixed": "number",
        "day": "constant", "nan": "empty",
    }  # fmt: skip
    assert fields["half"].missing == 16 and fields["half"].count == 15 and fields["number"].missing == 1
    assert fields["mixed"].strays == 1 and (fields["mixed"].low, fields["mixed"].high) == (0, 29)
    assert fields["c"].low == 3.0 and fields["c"].was == "number" and fields["day"].was == "time"
    assert learn(rows[:-1]).fields["same"].holds == "name", "a constant text carries no information"


def test_heavy_tails_get_a_logarithmic_scaler() -> None:
    rows = [{"even": i, "tail": math.exp(i / 40)} for i in range(500)]
    assert learn(rows).choose() == {}
    rows.append({"even": 3, "tail": 1e9})
    assert learn(rows).choose() == {"tail": "log"}
    assert learn([*rows, {"even": 3, "tail": 1e308}, {"even": 3, "tail": -1e308}]).choose() == {"tail": "log"}


def test_key_order_and_missing_values() -> None:
    rows = [{"x": i, "y": 2 * i, "m": None if i % 2 else i, "k": {"a": i}} for i in range(20)]
    schema = learn(rows)
    assert schema.write({"k": {"a": 1}, "y": 4, "x": 2}) == '{"x":2,"y":4,"m":null,"k":{"a":1}}'
    assert schema.write({"y": 4}) == '{"x":[NUM],"y":4,"m":null,"k":null}', "x was never missing: it is only unknown"
    assert schema.write({"x": 7, "m": 1}, asked="m") == '{"x":7,"y":[NUM],"m":[NUM],"k":null}'
    assert schema.write_asking({"x": 7}, asked="k.a") == ('{"x":7,"y":[NUM],"m":null,"k":{"a":[NUM]}}', ["y", "k.a"])


def test_a_requested_value_is_never_written() -> None:
    schema = learn(NESTED)
    for path in ("d.planet0.m", 'd.planet0["a b"]', "data[1][0]"):
        text, asked = schema.write_asking(NESTED[3], path)
        assert asked == [path] and text.count("[NUM]") == 1
        assert len(make_reader("records").find(text)) == 6
    text, asked = schema.write_asking({"data": [[1.0]]}, "data[1][2]")
    assert json.loads(text.replace("[NUM]", '"?"'))["data"] == [[1.0], ["?", "?", "?"]] and asked[-2] == "data[1][2]"
    assert schema.write({}, "data[0][1]") == '{"d":null,"data":[[[NUM],[NUM]]],"9":[NUM]}'


def test_unusual_input_is_counted() -> None:
    rows = [{"x": i, "y": i, "c": 5, "t": "2024-01-01" if i else "2024-02-01", "s": "ab"[i % 2]} for i in range(20)]
    schema, counts = learn(rows), Counts()
    text = schema.write({"x": 99, "y": math.inf, "c": 6, "t": 7, "s": 3, "new": 1, "more": {"z": 1}}, counts=counts)
    assert text == '{"x":99,"y":[NUM],"t":"7","s":"3"}'
    assert {kind: counts[kind] for kind in counts.KINDS} == {
        "missing": {}, "infinite": {"y": 1}, "outside": {"x": 1, "c": 1}, "strays": {"t": 1},
        "unknown": {"new": 1, "more": 1},
    }  # fmt: skip
    schema.write({"x": {"deep": 1}, "y": math.nan, "t": "2024-01-15", "s": "new word"}, counts=counts)
    assert counts["unknown"]["x"] == 1 and counts["missing"] == {"y": 1}


def test_long_texts_are_cut_and_frequent_ones_are_words() -> None:
    rows = [{"x": i, "s": ("long " * 40 if i % 2 else "rare") + str(i % 2)} for i in range(10)]
    schema = learn(rows)
    assert json.loads(schema.write(rows[1]))["s"] == ("long " * 40)[:MAX_TEXT]
    assert set(schema.words) == {'"rare0"', json.dumps(("long " * 40)[:MAX_TEXT])}


@pytest.mark.parametrize("odd", [[1, 2], [], {"a": 1}, {}, [[3]]])
def test_the_value_of_a_requested_number_is_ignored(odd: Any) -> None:
    schema = learn([{"x": x, "y": 2 * x} for x in range(5)])
    text, asked = schema.write_asking({"x": odd, "y": 3}, "x")
    assert (text, asked) == ('{"x":[NUM],"y":3}', ["x"])


def test_fields_that_can_be_predicted() -> None:
    rows = [{"body mass": i, "s": "ab"[i % 2], "c": 1, "data": [i, 2], "gone": None, "id": i} for i in range(10)]
    schema = learn(rows, leave_out=["id"])
    assert schema.path("body mass") == schema.path('["body mass"]') == '["body mass"]'
    assert schema.path("data[5]") == "data[5]" and schema.path("c") == "c"
    odd = learn([{"a[]": i, "x[0]": i, "d.m": i, 'q"': i} for i in range(3)])
    assert [odd.path(name) for name in ("a[]", "x[0]", "d.m", 'q"')] == ['["a[]"]', '["x[0]"]', '["d.m"]', '["q\\""]']
    for name, message in (
        ("boddy mass", "unknown field 'boddy mass': did you mean"), ("s", "field 's' has texts"),
        ("gone", "field 'gone' has no values"), ("id", "field 'id' was left out of the training"),
        ("data[]", r"field 'data\[\]' is a list: give an index, as 'data\[0\]'"), ("", "give one field"),
    ):  # fmt: skip
        with pytest.raises(FieldError, match=message):
            schema.path(name)
    assert "id" not in schema.write(rows[0])


def test_hints_name_fields_as_people_do() -> None:
    schema = learn([{"body mass (g)": 3000.0 + i, "x": float(i)} for i in range(9)])
    with pytest.raises(FieldError, match=r"unknown field 'body mass': did you mean 'body mass \(g\)'\?"):
        schema.path("body mass")
    assert schema.path("body mass (g)") == path_of("", "body mass (g)")


def test_records_that_cannot_be_learnt_from() -> None:
    for rows, message in (
        ([], "there are no records"), ([{"c": 1}, {"c": 1}], "no field has numbers that vary; the fields are c"),
        ([[1, 2]], r"a record must be a dict, got '\[1, 2\]'"), ([{}], "the fields are none"),
    ):  # fmt: skip
        with pytest.raises(FieldError, match=message):
            learn(rows)
    with pytest.raises(FieldError, match="unknown field 'idd' to leave out: did you mean 'id'"):
        learn([{"id": 1}, {"id": 2}], leave_out=["idd"])
    with pytest.raises(FieldError, match="a record must be a dict, got '7'"):
        learn([{"id": 1}, {"id": 2}]).write(7)


def test_a_schema_round_trips_as_json() -> None:
    schema = learn(NESTED)
    assert Schema.from_json(schema.to_json()) == schema
    assert path_of("a", "über") == "a.über" and path_of("a", "1") == 'a["1"]'
