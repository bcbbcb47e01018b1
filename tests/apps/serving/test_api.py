"""The paths of the service: answers, and one line for whatever does not fit."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from judging_models import facts, judging_model

import numerate
from numerate.apps.check import check
from numerate.apps.fill import fill

pytest.importorskip("fastapi", reason="needs the extra serve: pip install 'numerate[serve]'")
from fastapi.testclient import TestClient

from numerate.apps.plausible import PlausibilityChecker
from numerate.apps.serving import api
from numerate.apps.serving.api import make_app
from numerate.apps.serving.model_desk import CheckJob, FillJob, ModelDesk
from numerate.apps.serving.schemas import CheckAnswer, ErrorAnswer, FillAnswer, FindAnswer, Health
from numerate.apps.serving.settings import ServeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON = {"Content-Type": "application/json"}
TEXT = "Revenue rose 3.2% to $1.5 billion in 2023."
LAKE = "The lake is 28 km (27 mi) long. It took 12 men and 15 women, 28 people in all."
COST = "It cost $[NUM] on Monday."


@pytest.fixture(scope="module")
def bare() -> Iterator[TestClient]:
    """A service without a model."""
    with TestClient(make_app(ServeSettings(max_texts=8))) as client:
        yield client


@pytest.fixture(scope="module")
def desk() -> ModelDesk:
    return ModelDesk(judging_model(), "tiny")


@pytest.fixture(scope="module")
def filled(desk: ModelDesk) -> Iterator[TestClient]:
    """A service with a model."""
    with TestClient(make_app(ServeSettings(batch_ms=50, max_numbers=20), desk)) as client:
        yield client


def test_find_gives_what_the_reader_finds(bare: TestClient) -> None:
    answer = bare.post("/find", json={"text": [TEXT, "", "1.234,5 and twenty-one"], "locale": "eu", "words": True})
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
    FindAnswer.model_validate(answer.json())
    first, empty, last = (result["numbers"] for result in answer.json()["results"])
    assert first == [dict(found.to_dict()) for found in numerate.find(TEXT, words=True, locale="eu")]
    assert empty == [] and [found["value"] for found in last] == [1234.5, 21]
    one = bare.post("/find", json={"text": "It is 10^999 m, or 5(2) kg."}).json()
    FindAnswer.model_validate(one)
    assert one["results"][0]["numbers"][0]["value"] == "inf"


def test_check_gives_the_findings_of_texts_and_records(bare: TestClient) -> None:
    answer = bare.post("/check", json={"text": LAKE}).json()
    CheckAnswer.model_validate(answer)
    assert answer["findings"] == [found.to_dict() for found in check(LAKE)] and len(answer["findings"]) == 2
    assert answer["numbers"] == 5 and answer["model"] is False
    orders = [{"count": n, "price": p, "amount": n * p} for n, p in ((2, 3.5), (5, 1.25), (4, 2.2), (3, 9.1), (8, 1.1))]
    orders[3]["amount"] = 72.3
    answer = bare.post("/check", json={"records": orders}).json()
    CheckAnswer.model_validate(answer)
    assert answer["findings"][0]["cell"] == [3, 2] and answer["findings"][0]["meant"] == "27.3"
    table = "| a | b | total |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 9 |\n| 7 | 8 | 51 |\n| 2 | 2 | 4 |\n"
    for text in (f"Costs\n\n{table}\n{LAKE}\n\nMore\n\n{table}", "a,b,total\n1,2,3\n4,5,9\n7,8,51\n2,2,4\n"):
        answer = bare.post("/check", json={"text": text}).json()
        CheckAnswer.model_validate(answer)
        assert answer["findings"] == [found.to_dict() for found in check(text)]
        assert [2, 2] in [found.get("cell") for found in answer["findings"]]
    only = bare.post("/check", json={"text": LAKE, "ignore": ["sum"]}).json()["findings"]
    assert [found["rule"] for found in only] == ["conversion"]


def test_neither_find_nor_check_imports_torch() -> None:
    code = f"""
import sys
from fastapi.testclient import TestClient
from numerate.apps.serving.api import make_app
from numerate.apps.serving.settings import ServeSettings
with TestClient(make_app(ServeSettings())) as client:
    for path in ("/find", "/check"):
        assert client.post(path, json={{"text": {LAKE!r}}}).status_code == 200
    assert client.post("/fill", json={{"text": {COST!r}}}).status_code == 503
print("torch" in sys.modules, "transformers" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_without_a_model_one_line_says_how_to_name_one(bare: TestClient) -> None:
    for path, body in (("/fill", {"text": COST}), ("/check", {"text": LAKE, "model": True})):
        answer = bare.post(path, json=body)
        assert answer.status_code == 503 and "--model FOLDER" in answer.json()["error"]
    assert bare.get("/health").json() == {"status": "ok", "version": numerate.__version__, "model": False}


BAD = [
    ("/find", b"no json", 400, "the body is not JSON: Expecting value at character 0"),
    ("/find", b"", 422, "body: field required"),
    ("/find", b'{"text": "\xff"}', 400, "cannot be parsed as JSON"),
    ("/find", b"[" * 100_000, 400, "cannot be parsed as JSON"),
    ("/find", b'{"text": ' + b"9" * 5000 + b"}", 400, "cannot be parsed as JSON"),
    ("/find", b'{"text": 5}', 422, "text: input should be a valid string, got 5"),
    ("/find", b'{"text": []}', 422, "at least one text"),
    ("/find", b'{"text": ["","","","","","","","",""]}', 413, "9 texts, at most 8"),
    ("/find", b'{"txet": "5"}', 422, "'txet' is no field of this request"),
    ("/find", b'{"text": "5", "reader": "best"}', 422, "got 'best'"),
    ("/find", b'{"text": "5", "reader": "plain", "words": true}', 422, "reader 'plain' has no option words"),
    ("/check", b"{}", 422, "give either text or records"),
    ("/check", b'{"text": "5", "records": []}', 422, "give either text or records"),
    ("/check", b'{"text": "5", "ignore": ["sume"]}', 422, "did you mean 'sum'"),
    ("/check", b'{"text": "5", "false_alarms": 2}', 422, "false_alarms: input should be less than 1, got 2"),
    ("/nothing", b"{}", 404, "no such path"),
]


def test_bad_input_is_one_clear_line(bare: TestClient) -> None:
    for path, body, status, said in BAD:
        answer = bare.post(path, content=body, headers=JSON)
        line = ErrorAnswer.model_validate(answer.json()).error
        assert (answer.status_code, said in line, "\n" in line) == (status, True, False), (path, body[:60], line)
        assert len(line) < 200
    assert bare.get("/find").status_code == bare.options("/find").status_code == 405
    assert bare.post("/find", data={"text": "5"}).status_code == 415
    assert bare.post("/find", content=b'{"text": "\\ud800 5 km"}', headers=JSON).status_code == 200


def test_size_is_limited_by_header_and_while_reading(bare: TestClient) -> None:
    most = ServeSettings().max_bytes
    fits = json.dumps({"text": "x" * (most - 12)}).encode()
    assert len(fits) == most and bare.post("/find", content=fits, headers=JSON).status_code == 200
    for body in (fits + b" ", iter([b" " * 65536] * 32)):
        answer = bare.post("/find", content=body, headers=JSON)
        assert answer.status_code == 413 and "1,048,576 bytes" in answer.json()["error"]


def test_the_pages_describe_every_path_and_load_nothing(bare: TestClient) -> None:
    described = bare.get("/openapi.json").json()
    assert set(described["paths"]) == {"/find", "/fill", "/check", "/health", "/metrics"}
    for name in ("FindRequest", "FillRequest", "CheckRequest"):
        path = "/" + name.removesuffix("Request").lower()
        example = described["components"]["schemas"][name]["examples"][0]
        assert bare.post(path, json=example).status_code == (503 if path == "/fill" else 200)
        assert "429" in described["paths"][path]["post"]["responses"]
    page = bare.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert all(f"POST {path}" in page.text for path in ("/find", "/fill", "/check")) and "curl" in page.text
    assert not re.search(r"<script|src=|href=\"http|url\(", page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_fill_gives_what_fill_gives(filled: TestClient) -> None:
    texts = ["A [MASK] weighs about [NUM] kg.", COST]
    answer = filled.post("/fill", json={"text": texts, "top": 2})
    assert answer.status_code == 200, answer.text
    FillAnswer.model_validate(answer.json())
    for text, result in zip(texts, answer.json()["results"], strict=True):
        alone = fill(text, judging_model(), top=2)[0]["gaps"]
        assert result["text"] == text and [gap["gap"] for gap in result["gaps"]] == [gap["gap"] for gap in alone]
        assert result["gaps"][-1]["median"] == pytest.approx(alone[-1]["median"], rel=1e-4)
        assert [n["text"] for n in result["gaps"][-1]["numbers"]] == [n["text"] for n in alone[-1]["numbers"]]
    assert Health.model_validate(filled.get("/health").json()).model


def test_bad_texts_to_fill_are_one_line(filled: TestClient) -> None:
    for text, status, said in (
        ("no gap", 422, "must have a [MASK] or [NUM]"),
        ("[NUM] " * 65, 422, "at most 64"),
        ("[NUM] " + "x" * 4096, 413, "at most 4,096 are filled"),
        ("word," * 700 + "[NUM]", 422, "tiny: "),
    ):
        answer = filled.post("/fill", json={"text": text})
        assert answer.status_code == status and said in answer.json()["error"], answer.text
    assert filled.post("/fill", json={"text": COST, "top": 0}).status_code == 422
    many = filled.post("/fill", json={"text": ["[NUM] to [NUM] kg"] * 11})  # with 429 a client would ask again
    assert many.status_code == 413 and "22 gaps, at most 20 of a request" in many.json()["error"]


def test_check_with_a_model_adds_what_is_improbable(filled: TestClient) -> None:
    text = "The tower is 3 metres tall. The lake is 28 km (27 mi) long."
    judged = PlausibilityChecker(judging_model(), false_alarms=0.05)
    answer = filled.post("/check", json={"text": text, "false_alarms": 0.05}).json()
    CheckAnswer.model_validate(answer)
    assert answer["model"] and answer["findings"] == [found.to_dict() for found in check(text, model=judged)]
    rules = {found["rule"] for found in answer["findings"]}
    assert "conversion" in rules and rules & {"implausible", "plausible-slip"}
    tables = f"{text}\n\n| lake | km |\n|---|---|\n| A | 28 |\n\n{text.replace('3', '4')}\n"
    answer = filled.post("/check", json={"text": tables, "false_alarms": 0.05}).json()
    assert answer["findings"] == [found.to_dict() for found in check(tables, model=judged)] and answer["numbers"] == 7
    without = filled.post("/check", json={"text": text, "model": False}).json()
    assert not without["model"] and [found["rule"] for found in without["findings"]] == ["conversion"]
    many = filled.post("/check", json={"text": "5 km " * 21})
    assert many.status_code == 413 and "model=false" in many.json()["error"]
    assert filled.post("/check", json={"text": "none"}).json() == {"findings": [], "numbers": 0, "model": True}


def test_concurrent_requests_share_passes_and_get_their_own_answers(desk: ModelDesk, filled: TestClient) -> None:
    sizes: list[int] = []
    answer, own = desk.answer, threading.Lock()

    def counted(jobs: Any) -> Any:
        with own:
            sizes.append(len(jobs))
        return answer(jobs)

    texts = [*(text.replace(text.split()[2], "[NUM]") for text in facts(9)), "no"]
    expected = [fill(text, judging_model())[0]["gaps"][0]["median"] for text in texts[:-1]]
    with TestClient(make_app(ServeSettings(batch_ms=200), _Counted(desk, counted))) as client:
        with ThreadPoolExecutor(12) as pool:
            checks = [pool.submit(client.post, "/check", json={"text": LAKE}) for _ in range(2)]
            found = list(pool.map(lambda text: client.post("/fill", json={"text": text}), texts))
        assert all(each.result().status_code == 200 for each in checks)
        figures = client.get("/metrics").text
    assert [each.status_code for each in found] == [200] * 9 + [422]
    medians = [each.json()["results"][0]["gaps"][0]["median"] for each in found[:-1]]
    assert medians == pytest.approx(expected, rel=1e-3) and all(map(math.isfinite, medians))
    assert sum(sizes) == 11 and max(sizes) >= 4
    assert f"numerate_batch_numbers_count {len(sizes)}\n" in figures
    assert 'numerate_numbers_total{endpoint="/fill"} 9\n' in figures


class _Counted:
    """A desk whose batches are counted."""

    def __init__(self, desk: ModelDesk, answer: Any) -> None:
        self.model, self.why_not_judging, self.answer = desk.model, desk.why_not_judging, answer


def test_one_bad_job_of_a_batch_gets_the_error_alone(desk: ModelDesk) -> None:
    from numerate.apps.documents import Document
    from numerate.errors import BadInput

    document = Document(kind="text", text="The tower is 3 metres tall.")
    jobs = [FillJob(COST, 1), FillJob("word," * 700 + "[NUM]", 1), CheckJob(document, 0.05), FillJob(COST, 3)]
    first, bad, findings, last = desk.answer(jobs)
    assert isinstance(bad, BadInput) and len(first[0]["numbers"]) == 1 and len(last[0]["numbers"]) == 3
    assert findings and findings[0].written == "3"


def test_overload_of_the_model_answers_429(desk: ModelDesk) -> None:
    going = threading.Event()
    slow = _Counted(desk, lambda jobs: (going.wait(10), desk.answer(jobs))[1])
    settings = ServeSettings(max_texts=2, max_numbers=2, max_waiting=2, batch_size=1, batch_ms=0)
    with TestClient(make_app(settings, slow)) as client, ThreadPoolExecutor(8) as pool:  # type: ignore[arg-type]
        asked = [pool.submit(client.post, "/fill", json={"text": COST}) for _ in range(6)]
        while sum(each.done() for each in asked) < 3:
            threading.Event().wait(0.01)
        assert client.post("/find", json={"text": TEXT}).status_code == 200
        going.set()
        found = [each.result() for each in asked]
    assert sorted(each.status_code for each in found) == [200] * 3 + [429] * 3
    refused = next(each for each in found if each.status_code == 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 60 and "try again later" in refused.json()["error"]


def test_a_model_without_number_head_fills_words_only() -> None:
    from tiny_models import new_backbone, tokenizer_of

    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "subwords").eval()
    with TestClient(make_app(ServeSettings(), ModelDesk(model, "bare"))) as client:
        assert client.post("/fill", json={"text": "A [MASK]."}).status_code == 200
        for path, body in (("/fill", {"text": COST}), ("/check", {"text": LAKE, "model": True})):
            answer = client.post(path, json=body)
            assert answer.status_code == 422 and "no number head" in answer.json()["error"]
        assert client.post("/check", json={"text": LAKE}).json()["model"] is False


def test_an_error_of_a_path_tells_the_client_and_the_log_nothing(
    bare: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError(f"secret {arguments}")

    monkeypatch.setattr(api, "_found", fail)
    client = TestClient(bare.app, raise_server_exceptions=False)
    answer = client.post("/find", json={"text": "my secret 5"})
    assert answer.status_code == 500 and "internal error" in answer.json()["error"]
    assert "RuntimeError at" in caplog.text and "secret" not in caplog.text + answer.text
