"""What holds for the whole suite: no network, repeatable properties, and no test skipped in silence."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# Before any test imports a Hugging Face library, which reads them once.
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Before any test imports torch: models are tiny, two processes run the tests, and sums of several threads may differ in
# the last digit from one run to the next.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent
SHARED = Path(os.environ.get("NUMERATE_SHARED", ROOT.parent / "shared"))
LISTED = ROOT / "tests" / "needs_shared.txt"

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def listed() -> list[str]:
    """The tests that may be skipped where the shared folder is missing: prefixes of node ids."""
    lines = (line.partition("#")[0].strip() for line in LISTED.read_text("utf-8").splitlines())
    return [line for line in lines if line]


def is_listed(nodeid: str) -> bool:
    return any(nodeid == entry or nodeid.startswith((f"{entry}[", f"{entry}::")) for entry in listed())


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and models beside the checkout; without it, the test is skipped."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the shared folder, which is not at {SHARED}; set NUMERATE_SHARED")
    return SHARED


def pytest_collection_finish() -> None:
    """Takes all that was imported out of the garbage collection, which each training of the Trainer runs in full."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips tests marked `shared("data/wiki")` where that is missing, and fails those that the list does not have."""
    # A hook and not a fixture, because fixtures of the whole session, such as `shared`, would come first.
    marker = item.get_closest_marker("shared")
    if marker is None and "shared" not in getattr(item, "fixturenames", ()):
        return
    if not is_listed(item.nodeid):
        pytest.fail(f"{item.nodeid} needs the shared folder; add it to tests/needs_shared.txt", pytrace=False)
    for what in marker.args if marker else ():
        if not (SHARED / what).exists():
            pytest.skip(f"needs {SHARED / what}; set NUMERATE_SHARED")


# Reports reach these hooks on the controller of xdist as well as in a single process.
_unlisted: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and not is_listed(report.nodeid):
        _unlisted.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    # A module that skips itself (`importorskip`) never becomes a test; xdist forwards these reports, too.
    if report.skipped and not is_listed(report.nodeid):
        _unlisted.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unlisted and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _unlisted:
        terminalreporter.section("skipped, but not listed in tests/needs_shared.txt", red=True)
        for nodeid in sorted(_unlisted):
            terminalreporter.line(nodeid)


@pytest.fixture(autouse=True)
def _no_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests find must not depend on the model that comes with the repository."""
    monkeypatch.setenv("NUMERATE_MODEL", "none")
