"""A real Chromium without a window, driven by Playwright: the system's, for none is downloaded. Without one a test is
skipped, or fails (`required`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, expect, sync_playwright
from required import lacking
from waiting import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--proxy-server=direct://",
]
"""Nothing of Chromium's own goes anywhere. Playwright gives it a new profile, and takes that away."""


def executable() -> str:
    """The path of Chromium; without one the test is skipped, or fails where there must be one."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        missing = f"none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"
        lacking("CHROMIUM", f"there is no Chromium: {missing}")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    path = executable()
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """What a page did beside being shown: its errors, and what it asked for."""

    def __init__(self, page: Page) -> None:
        self.wrong: list[str] = []
        self.asked: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()


CONTRASTS = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
"""A function that gives the texts of a page whose contrast is below 4.5 (WCAG 2.2, 1.4.3), with the contrast."""
