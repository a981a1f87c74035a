"""How pages are rendered. `from_settings` is the only reader of the settings."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Self

from scrapy.settings import BaseSettings

from sitecrawl.base import limits
from sitecrawl.base.errors import OptionError, how_to_install
from sitecrawl.plugins.rendering import RENDER, RENDER_WAIT, SCREENSHOTS

OFF: Final = "0"
AUTO: Final = "auto"

_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """See docs/rendering.md."""

    mode: str = OFF
    """`OFF`, `1` or `AUTO`."""
    pages: int = 2
    """That are rendered at once."""
    wait: float = 5.0
    """Seconds, at the most, for the network to fall silent once a page has loaded."""
    seconds: float = 30.0
    """For a page, in all: both of its waits are within."""
    requests: int = 500
    """That a page may make, itself not counted."""
    size: int = 64 << 20
    """Bytes that these may bring together."""
    memory: int = 1 << 30
    """Bytes that the process of a page may come to have."""
    screenshots: bool = False
    """Whether a picture is kept of each rendered page."""

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """With defaults for a project that has none of them."""
        wait = RENDER_WAIT.read(settings)
        return cls(
            mode=str(RENDER.read(settings)),
            wait=wait,
            seconds=max(limits.RENDER_TIME.value, 2 * wait),
            requests=limits.RENDER_REQUESTS.value,
            size=limits.RENDER_SIZE.value,
            memory=limits.RENDER_MEMORY.value,
            screenshots=SCREENSHOTS.read(settings),
        )


def launch_options(settings: BaseSettings) -> dict[str, Any]:
    """With what the browser is started: PLAYWRIGHT_LAUNCH_OPTIONS, and the system's Chromium unless they name one.

    Raises `OptionError` where what is needed is missing.
    """
    if find_spec("playwright") is None:
        raise OptionError(f"To render pages takes Playwright: {how_to_install('render')}")
    given: dict[str, Any] = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS")
    path = given.get("executable_path") or next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if path is None or shutil.which(path) is None:
        raise OptionError(
            f"To render pages takes a browser, and {path or ', '.join(_BROWSERS)} cannot be run "
            "(Debian: apt-get install chromium)"
        )
    return {**given, "executable_path": path}
