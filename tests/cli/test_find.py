from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import numerate
from numerate.apps.numeral_view import COLOURS, format_value, highlighted, visible
from numerate.cli.find import find_in_file
from numerate.cli.stats import stats_of_file
from numerate.errors import BadInput
from numerate.reading import windows
from numerate.training import text_files

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["Revenue rose 3.2% to $1.5 billion in 2023.", "", "none", "BP 120/80, −4.5 °C", "1e999 and ½"]


def run(path: str | Path, **options: object) -> str:
    out = io.BytesIO()
    find_in_file(str(path), out, **options)  # type: ignore[arg-type]
    return out.getvalue().decode()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


def test_json_lines_equal_the_python_interface(texts: Path) -> None:
    rows = [json.loads(line) for line in run(texts).splitlines()]
    expected = [{"index": i, **n.to_dict()} for i, text in enumerate(TEXTS) for n in numerate.find(text)]
    assert rows == expected
    assert rows[0] == {
        "index": 0, "start": 13, "end": 17, "text": "3.2%", "value": 0.032, "written": 3.2, "decimals": 1,
        "kind": "percent", "unit": None,
    }  # fmt: skip


def test_values_beyond_float64_are_still_json(texts: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    rows = [json.loads(line, parse_constant=refuse) for line in run(texts).splitlines()]
    assert rows[-2]["value"] == "inf"


def test_columns(texts: Path) -> None:
    rows = [line.split("\t") for line in run(texts, form="columns").splitlines()]
    assert rows[1] == ["0", "22", "33", "1500000000.0", "money", "USD", "1.5 billion"]
    assert all(TEXTS[int(index)][int(start) : int(end)] == text for index, start, end, _, _, _, text in rows)


def test_view_shows_texts_and_values(texts: Path) -> None:
    shown = run(texts, form="view", width=200)
    assert "\x1b[" in shown and "1,500,000,000 USD" in shown and "none" in shown


@pytest.mark.parametrize("form", ["json", "columns", "view"])
def test_output_does_not_depend_on_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(text_files, "BATCH_LINES", 7)
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{i} apples, {i / 7:.2f}% of ${i},000\n" for i in range(200)), encoding="utf-8")
    assert run(path, form=form, processes=3) == run(path, form=form)


@pytest.mark.parametrize("processes", [1, 2])
def test_lines_before_an_error_are_written(tmp_path: Path, processes: int) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"a 5\nb 6\n\xff 7\nc 8\n")
    out = io.BytesIO()
    with pytest.raises(BadInput, match=r"bad\.txt:3: "):
        find_in_file(str(path), out, form="columns", processes=processes)
    assert len(out.getvalue().splitlines()) == 2


def test_options_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("twenty-one, 1,5\n")
    assert run(path, form="columns", options={"words": True, "locale": "eu"}).count("\n") == 2


def test_lone_surrogates_from_json_escapes(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"t": "{\\"\\ud800\\": 5}"}\n')
    row = json.loads(run(path, field="t", reader="records"))
    assert row["value"] == 5.0 and "ud800" in row["path"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    line = "In 2023 revenue rose 3.2% to $1.5 billion, on 12 sites of 3 km each.\n"
    small.write_text(line * 100)
    large.write_text(line * 30_000)
    code = (
        "import resource, sys, os, numerate.cli.find as f\n"
        "f.find_in_file(sys.argv[1], open(os.devnull, 'wb'), form='columns', reader='plain')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = [
        int(subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True).stdout)
        for path in (small, large)
    ]
    unit = 1 if sys.platform != "darwin" else 1024
    assert peaks[1] - peaks[0] < 20 * 1024 * unit


LINES = [
    b"\xef\xbb\xbf7 of 12\n", "3.2% of $1.5 billion in 2023, ½ and −4 °C; ".encode() * 300 + b"\r\n", b"5\n", b"\n",
    b"1,2,3," * 900 + b"4\n", b"no number " * 300 + b"\n", b"9 " * 2_000,
]  # fmt: skip


@pytest.mark.parametrize("processes", [1, 2])
def test_long_lines_are_read_in_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"".join(LINES))
    wanted = {form: run(path, form=form, processes=processes) for form in ("json", "columns")}
    statistics = stats_of_file(str(path))
    monkeypatch.setattr(text_files, "LONG_LINE", 1_000)
    monkeypatch.setattr(text_files, "PIECE_BYTES", 333)  # cuts characters and line ends
    monkeypatch.setattr(windows, "WINDOW", 900)
    monkeypatch.setattr(windows, "CONTEXT", 128)
    assert {form: run(path, form=form, processes=processes) for form in wanted} == wanted
    assert stats_of_file(str(path)) == statistics
    assert "1,500,000,000 USD" in run(path, form="view", width=200)


def test_errors_of_long_lines_name_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LONG_LINE", 1_000)
    path = tmp_path / "long.txt"
    path.write_bytes(b"5\n" + b"6 " * 5_000 + b"\xff\n7\n")
    with pytest.raises(BadInput, match=r"long\.txt:2: a byte near offset 10000 is not UTF-8"):
        run(path)
    monkeypatch.setattr(text_files, "LONGEST_LINE", 2_000)
    with pytest.raises(text_files.SourceError, match=r"long\.txt:2: the line has more than"):
        run(path, reader="records")


PEAK = (
    "import resource, sys, os\n"
    "from numerate.cli.find import find_in_file\n"
    "from numerate.cli.stats import stats_of_file\n"
    "from numerate.reading import windows\n"
    "from numerate.training import text_files\n"
    "path, command, size = sys.argv[1:]\n"
    "if int(size): windows.WINDOW = text_files.LONG_LINE = text_files.PIECE_BYTES = int(size)\n"
    "if command == 'find': find_in_file(path, open(os.devnull, 'wb'), form='columns')\n"
    "else: stats_of_file(path)\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


def peak_of(path: Path, command: str, window: int = 0) -> float:
    """Maximum memory in MB, with windows of another size."""
    words = [sys.executable, "-c", PEAK, str(path), command, str(window)]
    done = subprocess.run(words, capture_output=True, check=True)
    return int(done.stdout) / (1024 if sys.platform != "darwin" else 1024**2)


@pytest.mark.parametrize("command", ["find", "stats"])
def test_memory_does_not_grow_with_the_line(tmp_path: Path, command: str) -> None:
    peaks = []
    for rows in (4_000, 32_000):
        path = tmp_path / f"{rows}.txt"
        path.write_bytes(b"7 of 12, 3.2% and no more; " * rows)
        peaks.append(peak_of(path, command, 50_000))
    assert peaks[1] - peaks[0] < 8, peaks  # read as a whole, the longer line takes 40 MB more


@pytest.mark.slow
@pytest.mark.parametrize("command", ["find", "stats"])
@pytest.mark.parametrize(
    ("text", "size"), [(b"7 of 12, 3.2% and words that are no numbers at all; ", 1e9), (b"31,", 3.3e7)]
)
def test_memory_of_a_line_of_a_gigabyte(tmp_path: Path, command: str, text: bytes, size: float) -> None:
    path = tmp_path / "line.txt"
    with path.open("wb") as file:  # 1 GB, or 11 million numbers
        for _ in range(int(size / len(text) / 1000)):
            file.write(text * 1000)
    assert peak_of(path, command) < 1_500


def test_view_hides_control_characters() -> None:
    text = "\x1b[31m5\x9b\x07\ud800\tkm"
    assert len(visible(text)) == len(text)
    assert not set(visible(text)) & set("\x1b\x9b\x07\ud800")
    assert highlighted(text, numerate.find(text, reader="plain")).plain == visible(text)


def test_every_kind_has_a_colour() -> None:
    assert set(COLOURS) == set(numerate.KINDS)


@pytest.mark.parametrize(
    ("value", "shown"), [(-0.0, "-0"), (1e16, "1e+16"), (float("-inf"), "-inf"), (-1234.0, "-1,234"), (0.1, "0.1")]
)
def test_format_value(value: float, shown: str) -> None:
    assert format_value(value) == shown


def test_a_terminal_gets_colours(texts: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "numerate", "find", str(texts)]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 4096):
                seen += piece
        except OSError:
            pass  # Linux raises this when the other side has closed
        assert process.wait() == 0
    os.close(ours)
    assert b"\x1b[" in seen and "1,500,000,000 USD" in seen.decode()
