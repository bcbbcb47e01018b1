from __future__ import annotations

from importlib import metadata

import pytest
from typer.testing import CliRunner

from numerate.cli import doctor
from numerate.cli.app import app


def test_a_healthy_installation() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    for word in ("python", "torch", "transformers", "tokenizers", "extra units", "device", "read correctly"):
        assert word in done.stdout


def test_a_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def without_pint(name: str) -> str:
        if name.lower() == "pint":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.metadata, "version", without_pint)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0
    assert 'pip install "numerate[units]"' in done.stdout


@pytest.mark.parametrize("version", ["0.1", None])
def test_an_old_or_missing_package_is_a_fault(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: version)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert 'pip install "torch>=2.11"' in done.stdout


def test_wrong_reading_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SELF_CHECK", (("5", [6.0]),))
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1 and "'5' gives [5.0], not [6.0]" in done.stdout


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", absent)
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 1
