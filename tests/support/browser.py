"""A headless Chromium that opens pages of this machine, tells what they asked of a network, and takes pictures."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.remote.webelement import WebElement

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    "disable-component-update disable-sync window-size=1280,900 force-color-profile=srgb hide-scrollbars"
).split()
PATIENCE_S = 60.0
"""Machines that run tests may have better things to do."""
TIP = "document.querySelector('#tip:not([hidden])')?.innerText"
"""The text of the tooltip that is shown, if any, in JavaScript."""
BEYOND = (
    "[...document.querySelectorAll('body *')].filter((item) => item.getBoundingClientRect().right > innerWidth + 1"
    " && !item.closest('.scroll, .wide, #tip')).map((item) => item.outerHTML.slice(0, 90))"
)
"""Elements that run out of the screen to the right, but for those that scroll in a box of their own."""
OVER = (
    "[...document.querySelectorAll('svg')].flatMap((map) =>"
    " [...map.querySelectorAll('.note')].flatMap((one, at, all) =>"
    " all.slice(at + 1).map((other) => [one, other]))).filter((pair) => { const [a, b] = pair.map((item) =>"
    " item.getBoundingClientRect()); return a.left < b.right && b.left < a.right && a.top + 3 < b.bottom - 3 &&"
    " b.top + 3 < a.bottom - 3; }).map((pair) => pair.map((item) => item.textContent).join())"
)
"""Pairs of notes in a drawing that lie over each other, by more than the space around letters."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="needs chromium and chromedriver")


@dataclass(frozen=True, slots=True)
class Browser:
    """One tab, driven as a user would."""

    driver: webdriver.Chrome

    def open(self, page: Path, *, dark: bool = False) -> float:
        """Load a page; seconds until it was drawn."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        begin = time.monotonic()
        self.driver.get(page.as_uri())
        return time.monotonic() - begin

    @contextmanager
    def wide(self, width: int) -> Iterator[None]:
        """Lay pages out as on a screen that is so many pixels wide."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return {script}")

    def find(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements("css selector", selector)

    def wait(self, script: str) -> Any:
        """The value of an expression as soon as it is truthy."""
        return self._wait(lambda: self.run(script), script)

    def point_at(self, element: WebElement) -> None:
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver).move_to_element(element).perform()

    def click(self, element: WebElement) -> None:
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.driver).move_to_element(element).click().perform()

    def complaints(self) -> list[str]:
        """What the page wrote to the console as errors or warnings."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened; files, data and the browser's own left out."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [item["params"]["request"]["url"] for item in messages if item["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("file:", "data:", "blob:", "chrome:"))]

    def picture(self, box: Mapping[str, float], scale: float = 1) -> bytes:
        """A PNG of a part of the page: x, y, width, height."""
        clip = {**box, "scale": scale}
        words = {"captureBeyondViewport": True, "clip": clip}
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", words)["data"])

    def pdf(self) -> bytes:
        """The page as a PDF file, as the browser prints it."""
        words = {"preferCSSPageSize": True, "printBackground": True}
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", words)["data"])

    def _wait(self, get: Callable[[], Any], what: str) -> Any:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            value = get()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {what}")


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in a new folder; it ends with the context."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"user-data-dir={folder}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    try:
        driver.set_page_load_timeout(2 * PATIENCE_S)
        yield Browser(driver)
    finally:
        driver.quit()
