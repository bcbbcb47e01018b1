"""The page of `numerate play` in a real browser: chromium by selenium (extra `browser`, Debian's chromium-driver)."""

from __future__ import annotations

import shutil
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from judging_models import judging_model

from numerate.apps import play_parts
from numerate.apps.play import play
from numerate.apps.play_parts import moved_text
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    # Of gradio and its server, which we cannot mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SCRIPT = "<script>document.title='taken'</script> A cat weighs 4.1 kg."
PATIENCE = 60


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page with a tiny model, on a free port."""
    pytest.importorskip("gradio", reason='the page needs the extra play: pip install -e ".[browser]"')
    folder = tmp_path_factory.mktemp("play") / "tiny"
    judging_model().save_pretrained(folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    page = play([str(folder)], port=port, block=False)
    yield f"http://127.0.0.1:{port}"
    page.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver", reason='it needs selenium: pip install -e ".[browser]"')
    driver, program = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or program is None:
        pytest.skip("there is no chromium with chromedriver: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,1400"):
        options.add_argument(argument)
    started = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    yield started
    started.quit()


@pytest.fixture
def page(browser: Any, address: str) -> Any:
    browser.get(address)
    wait(lambda: element(browser, "#sentence textarea, #sentence input"))
    return browser


def wait(found: Callable[[], Any]) -> Any:
    """What `found` returns, as soon as it is true; errors of a page that is not ready count as false."""
    from selenium.common.exceptions import WebDriverException

    end = time.monotonic() + PATIENCE
    while True:
        try:
            if result := found():
                return result
        except WebDriverException:
            pass
        assert time.monotonic() < end, "the page did not come to the expected state"
        time.sleep(0.1)


def element(page: Any, selector: str) -> Any:
    return page.find_element("css selector", selector)


def text_of(page: Any, selector: str) -> str:
    return element(page, selector).text


def open_tab(page: Any, name: str) -> None:
    wait(lambda: page.find_element("xpath", f"//button[@role='tab'][contains(., '{name}')]")).click()


def write(page: Any, selector: str, text: str) -> None:
    """Puts a text into a field at once, as a paste does."""
    field = wait(lambda: element(page, selector))
    field.clear()
    if len(text) < 500:
        field.send_keys(text)
    else:
        put = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
        page.execute_script(put, field, text)


def test_numbers_are_marked_while_one_types(page: Any) -> None:
    write(page, "#sentence textarea, #sentence input", "The [MASK] is 300 metres tall.")
    wait(lambda: "300" in text_of(page, "#marked mark"))
    assert element(page, "#marked mark").get_attribute("title").startswith("300 m")


def test_words_follow_the_slider(page: Any) -> None:
    """Several moves in a row: the page ends with the words of the last one, even if it came during a request."""
    from selenium.webdriver import ActionChains

    sentence = "The [MASK] is 300 metres tall."
    write(page, "#sentence textarea, #sentence input", sentence)
    wait(lambda: "300" in text_of(page, "#marked mark"))
    slider = wait(lambda: element(page, "#power input[type=range]"))
    for share in (8, 6, 4):
        ActionChains(page).drag_and_drop_by_offset(slider, slider.size["width"] // share, 0).perform()
    power = float(slider.get_attribute("value"))
    assert power > 0
    (moved,) = find(moved_text(sentence, None, power))
    # The words of the number where it stands, asked for when the sentence changed, may come first.
    wait(lambda: text_of(page, "#words mark") == moved.text)
    assert "%" in text_of(page, "#words"), "words with their probabilities"


def test_gap_shows_a_density(page: Any) -> None:
    open_tab(page, "Gap")
    write(page, "#gap textarea, #gap input", "The tower is [NUM] metres tall.")
    wait(lambda: element(page, "#ask")).click()
    wait(lambda: element(page, "#density svg rect"))
    assert "median" in text_of(page, "#density")


def test_file_is_checked(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "lake.txt"
    file.write_text("The lake is 28 km (27 mi) long.")
    open_tab(page, "Check")
    wait(lambda: element(page, "#file input[type=file]")).send_keys(str(file))
    wait(lambda: "lake.txt" in text_of(page, "#file").replace("\n", ""))
    wait(lambda: element(page, "#check")).click()
    wait(lambda: "17 mi" in text_of(page, "#findings"))
    assert "conversion" in text_of(page, "#findings")


def test_ten_megabytes_are_refused(page: Any) -> None:
    open_tab(page, "Check")
    write(page, "#report textarea", "1 km " * 2_100_000)
    wait(lambda: element(page, "#check")).click()
    wait(lambda: f"at most {play_parts.MAX_TEXT:,}" in text_of(page, "#findings").replace("\n", " "))


def test_markup_is_shown_as_text(page: Any) -> None:
    write(page, "#sentence textarea, #sentence input", SCRIPT)
    wait(lambda: "<script>" in text_of(page, "#marked"))
    open_tab(page, "Check")
    write(page, "#report textarea", "<b>x</b> <script>document.title='taken'</script> is 28 km (27 mi) long.")
    wait(lambda: element(page, "#check")).click()
    wait(lambda: "<script>" in text_of(page, "#findings"))
    assert page.title != "taken" and not page.find_elements(
        "css selector", "#marked script, #findings script, #findings b b"
    )
