"""A real browser without a screen, and a store to look at with it."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from rest_service import EXAMPLES
from weft import Weft

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@contextmanager
def open_browser(width: int = 1360, height: int = 860) -> Iterator[webdriver.Chrome]:
    """A browser with an empty profile, which logs every request that it sends."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="weft-browser-", ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Driver(str(DRIVER)))
        try:
            yield browser
        finally:
            browser.quit()


def set_screen(browser: webdriver.Chrome, width: int, height: int, *, dark: bool = False) -> None:
    """Give the page exactly this size, as a phone has it, and light or dark colours."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def requested(browser: webdriver.Chrome) -> list[str]:
    """The addresses that the browser has asked for since the last call."""
    messages: list[dict[str, Any]] = [
        json.loads(each["message"])["message"] for each in browser.get_log("performance")
    ]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def make_world(folder: Path) -> Path:
    """A store with the example worlds."""
    store = folder / ".weft"
    with Weft.open(store) as weft:
        for world in sorted(each for each in EXAMPLES.iterdir() if each.is_dir()):
            weft.index(world)
    return store


class Explorer:
    """The page in the browser, with the words of a person for what is done there."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, *query: tuple[str, object], view: str = "") -> "Explorer":
        set_screen(self.browser, 1360, 860)
        place = f"/explore/view/{view}" if view else "/explore"
        self.browser.get(f"{self.address}{place}?{urlencode(query)}")
        self.wait("return document.body.dataset.ready === 'yes'")
        return self

    def wait(self, script: str, *values: object) -> None:
        WebDriverWait(self.browser, 10, 0.02).until(lambda page: page.execute_script(script, *values))

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(
            self.browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)
        )

    def choose(self, selector: str, words: str) -> None:
        """Click the first of some elements whose text begins so."""
        script = (
            "[...document.querySelectorAll(arguments[0])]"
            ".find(each => each.textContent.trim().startsWith(arguments[1])).click()"
        )
        self.browser.execute_script(script, selector, words)

    def press(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def wait_for(self, selector: str, words: str) -> None:
        script = "return document.querySelector(arguments[0]).textContent.includes(arguments[1])"
        self.wait(script, selector, words)

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.browser.current_url).query)
