"""The review page in a real browser, by the keys; skipped where there is none."""

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from reviewing import (
    N_COMPONENTS,
    anew,
    flip,
    number,
    serving,
    simulated,
    split,
    table_of,
    written,
)

from mne_otica import clean_study
from mne_otica.cli import main
from mne_otica.study.components_table import read_table
from mne_otica.study.file_names import Name
from mne_otica.study.inputs import Recording
from mne_otica.study.review import Review
from mne_otica.study.summary_page import page as page_of_rows
from mne_otica.study.summary_table import empty_row

SIZE = "--window-size=1280,900"
LONG = 20.0  # s that a browser may take for what takes it a moment


@pytest.fixture(scope="module")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, chromedriver = (
        next(filter(None, map(shutil.which, names)), None)
        for names in (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
    )
    if browser is None or chromedriver is None:
        pytest.skip("there is no Chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", SIZE):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


class Page:
    """The page as a person with a keyboard has it."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get("about:blank")
        driver.get(address)
        self.settle()

    def settle(self):
        """Wait until nothing is under way."""
        from selenium.webdriver.support.ui import WebDriverWait

        script = (
            "return document.body.dataset.running === '0' && "
            "!document.querySelector('[aria-busy=true]')"
        )
        WebDriverWait(self.driver, LONG).until(lambda driver: driver.execute_script(script))

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.settle()
        return self

    def text(self, name):
        return self.driver.find_element("id", name).text

    def shown(self, name):
        return self.driver.find_element("id", name).is_displayed()

    def messages(self):
        """Return what the browser complains of."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


def soon(holds):
    """Return whether something comes true before long."""
    end = time.monotonic() + LONG
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def test_page_from_the_keyboard(driver, out):
    from selenium.webdriver import Keys

    with serving(Review(out, "Ann")) as server:
        page = Page(driver, server.address)
        assert page.text("label") == "empty"
        assert not page.shown("components")
        page.press("?")
        assert "flip" in page.text("help")
        page.press(Keys.ESCAPE, "k", "j", "j")  # there is none before the first
        label = page.text("label")
        assert label in ("one", "two")
        removed, _ = split(out, label)
        assert page.text("component-name") == f"ICA{removed[0]:03d}: removed"
        assert page.text("numbers").startswith(f"Removed\nICA{removed[0]:03d}")
        # A key removes a component, and what that does is seen.
        effect = page.text("numbers")
        page.press(Keys.ARROW_RIGHT, "f")
        other = (removed[0] + 1) % N_COMPONENTS
        now = sorted({*removed} ^ {other})
        decided = "removed" if other in now else "kept"
        assert page.text("component-name") == f"ICA{other:03d}: {decided}"
        assert page.text("state").startswith("Saved")
        assert page.text("numbers") != effect
        # A person says which kind it is; the page shows the benefit and harm of each kind.
        kind = page.driver.find_element("id", "kind")
        kind.send_keys("muscle")
        page.settle()
        assert read_table(table_of(out, label), 10)[other]["kind"] == "muscle"
        page.driver.execute_script("document.activeElement.blur()")
        assert split(out, label)[0] == now
        page.press("n", "odd <i>", Keys.ENTER)
        assert page.text("component-note") == "Note: odd <i>"
        assert read_table(table_of(out, label), 10)[other]["note"] == "odd <i>"
        # Another channel, another time
        channel, title = page.text("traces-title").split()[0], page.text("traces-title")
        page.press("c")
        assert page.text("traces-title").split()[0] != channel
        page.press("C", "," if page.driver.find_element("id", "earlier").is_enabled() else ".")
        assert page.text("traces-title") != title
        # Leaving the page loses nothing, not even a note that is being written, or the place.
        page.press("n", " indeed")
        driver.refresh()
        page.settle()
        assert soon(lambda: "odd <i> indeed" in table_of(out, label).read_text(encoding="utf-8"))
        assert page.text("label") == label
        assert page.text("component-name") == f"ICA{now[0]:03d}: removed"
        assert page.messages() == []
        driver.get("about:blank")


def test_page_shows_what_someone_else_decided(driver, out):
    from selenium.webdriver import Keys

    with serving(Review(out, "Ann")) as server:
        page = Page(driver, f"{server.address}#{number(server.review, 'two')}")
        chosen = split(out, "two")[1][-1]
        flip(Review(out, "Bob"), "two", chosen, "bad", "mine")
        page.press("f")
        assert (
            page.text("conflict-changes")
            == f"ICA{chosen:03d} is now removed and has the note “mine” (Bob)"
        )
        rows = read_table(table_of(out, "two"), 10)
        assert [row["who"] for row in rows.values()].count("Ann") == 0
        page.press(Keys.ENTER)
        assert soon(lambda: "changed" in page.text("recordings"))
        page.settle()
        before = page.text("component-name")
        page.press("f")
        assert page.text("component-name") != before
        assert page.text("state").startswith("Saved")
        assert len(page.messages()) == 1, "the refusal"
        driver.get("about:blank")


def luminance(colour):
    """Return how bright a colour of the style sheet is, by the rule for contrast on the web."""
    shares = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
def test_page_fits_the_screen_and_can_be_read(driver, out, width, theme):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    with serving(Review(out, "Ann")) as server:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        page = Page(driver, f"{server.address}#2")
        assert page.shown("before-after")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        # The least contrast that the web's guidelines ask for
        script = "return getComputedStyle(document.{}).{}"
        back = luminance(driver.execute_script(script.format("body", "backgroundColor")))
        assert (back < 0.5) == (theme == "dark")
        for where in ("body", "querySelector('dt')", "querySelector('.bad b')"):
            text = luminance(driver.execute_script(script.format(where, "color")))
            assert (max(text, back) + 0.05) / (min(text, back) + 0.05) >= 4.5, where
        # Maps stand in line, whatever is written below them.
        tops = driver.execute_script(
            "return [...document.querySelectorAll('#maps button')].map((one) =>"
            " one.querySelector('canvas').offsetTop)"
        )
        assert len(set(tops)) == 1
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        driver.get("about:blank")


def test_summary_has_no_row_of_more_than_three_lines(driver, tmp_path):
    rows = [
        empty_row(Recording(Path("x"), Name(Path(), name))) | {"status": status, "message": why}
        for name, status, why in [
            ("a" * 200, "none", "no blinks found, nothing removed"),
            ("sub-01_ses-a_task-rest_run-01", "none", "no blinks found, nothing removed"),
            ("b", "failed", "a long reason " * 40),
        ]
    ]
    panel = {"title": "a" * 100, "limits": "b" * 100, "onset": 20, "before": "", "after": ""}
    (tmp_path / "page.html").write_text(page_of_rows(rows, (), [panel]), encoding="utf-8")
    for width in (1280, 400):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get((tmp_path / "page.html").as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        if width == 1280:
            heights, line = driver.execute_script(
                "return [[...document.querySelectorAll('tbody td, .problems li')].map((one) =>"
                " one.clientHeight - 2 * parseFloat(getComputedStyle(one).paddingTop)),"
                " parseFloat(getComputedStyle(document.body).lineHeight)]"
            )
            assert max(heights) <= 3 * line + 1
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def started(out):
    """Start the command in a process of its own; yield the process and the address."""
    command = [sys.executable, "-m", "mne_otica", "review", str(out), "--no-browser"]
    command += ["--name", "Ann"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_study_of_twelve_from_first_key_to_last(driver, tmp_path):
    """Six decisions are flipped, the server is killed in between, and a run applies the six."""
    from selenium.webdriver import Keys

    mne_bids = pytest.importorskip("mne_bids")
    troubles = {3: {"noisy_channels": 2, "movements": 6}, 7: {"pops": 6, "n_blinks": 2}}
    for k in range(12):
        raw = simulated(k, **troubles.get(k, {})).raw
        raw.info["line_freq"] = 50
        path = mne_bids.BIDSPath(subject=f"{k:02d}", task="rest", datatype="eeg", root=tmp_path)
        mne_bids.write_raw_bids(
            raw, path, format="BrainVision", allow_preload=True, verbose="error"
        )
    (tmp_path / "sub-05" / "eeg" / "sub-05_task-rest_eeg.eeg").write_bytes(b"")
    out = clean_study(bids_root=tmp_path, verbose="error").out
    cleaned = written(out)
    assert len(cleaned) == 11
    flipped = []

    def look(page, step):
        """Flip the third component of every other recording, as long as six are not flipped."""
        label = page.text("label")
        if page.shown("components") and step % 2 and len(flipped) < 6:
            page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "f")
            assert page.text("state").startswith("Saved")
            flipped.append(label)

    with started(out) as (process, address):
        page = Page(driver, address)
        assert page.text("label") == "sub-05_task-rest"
        for step in range(7):
            look(page, step)
            page.press("j")
        assert len(flipped) == 3
        process.kill()
        process.wait()
        page.press(Keys.ARROW_RIGHT, "f")
        assert "Not saved" in page.text("state")
    with started(out) as (_, address):
        page = Page(driver, f"{address}#7")
        for step in range(7, 12):
            look(page, step)
            page.press("j")
        assert page.text("position") == "12 of 12"
        assert page.text("recordings").count("changed") == len(flipped) == 6
        driver.get("about:blank")
    assert main(["run", "--bids-root", str(tmp_path)]) == 1, "as one recording failed before, too"
    assert anew(cleaned, out) == sorted(flipped)
