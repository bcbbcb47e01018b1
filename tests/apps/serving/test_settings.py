"""Settings of the service, and where its token comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.serving.settings import ServeSettings, is_loopback, read_token
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "0123456789abcdef"


def test_an_address_that_others_reach_needs_a_token_or_a_flag() -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.org"):
        assert not is_loopback(host)
        with pytest.raises(BadInput, match="can be reached from other machines: set a token"):
            ServeSettings(host=host)
        assert ServeSettings(host=host, token=TOKEN) and ServeSettings(host=host, without_token=True)
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        assert ServeSettings(host=host).token is None
    assert TOKEN not in repr(ServeSettings(token=TOKEN))


def test_settings_out_of_range_are_one_line() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"workers": 0}, "--workers must lie between 1 and 256, got 0"),
        ({"port": 70000}, "--port must lie between 0 and 65535, got 70000"),
        ({"max_bytes": 0}, "--max-bytes .* got 0"),
        ({"timeout": 0}, "--timeout .* got 0"),
        ({"timeout": float("nan")}, "--timeout .* got nan"),
        ({"batch_ms": -1}, "--batch-ms .* got -1"),
        ({"false_alarms": 1}, "--false-alarms .* got 1"),
        ({"device": "tpu"}, "--device must be cpu, cuda or auto, got 'tpu'"),
        ({"max_waiting": 10}, "--max-waiting 10 is less than one request may ask for: give at least 200"),
    ]
    for settings, said in bad:
        with pytest.raises(BadInput, match=said):
            ServeSettings(**settings)


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMERATE_TOKEN", raising=False)
    assert read_token() is None
    monkeypatch.setenv("NUMERATE_TOKEN", TOKEN)
    assert read_token() == TOKEN
    file = tmp_path / "token"
    file.write_text("another-token-in-a-file\n")
    assert read_token(str(file)) == "another-token-in-a-file"
    for content in (b"", b"short", b"with a space in the middle", "schlüssel-schlüssel".encode(), b"x" * 5000):
        file.write_bytes(content)
        with pytest.raises(BadInput, match="--token-file") as error:
            read_token(str(file))
        assert not content or content.decode() not in str(error.value)
    with pytest.raises(BadInput, match="cannot be read: no such file"):
        read_token(str(tmp_path / "missing"))
