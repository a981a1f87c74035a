"""The cookies of a crawl that is logged in: whether they can be read, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sitecrawl.http.cookies import IN_CRAWL, BadCookies, read_cookies
from sitecrawl.plugins.checking.problems import Problem

_OTHERS: Final = 0o077
_PLACE: Final = str(IN_CRAWL)


def check_session(directory: Path) -> Iterator[Problem]:
    """A crawl without cookies has nothing to be checked."""
    path = directory / IN_CRAWL
    if not path.exists():
        return
    try:
        read_cookies(path)
    except BadCookies:
        yield Problem(_PLACE, "it is no cookies.txt any more", "removes it: the crawl logs in again")
    if any(one.stat().st_mode & _OTHERS for one in (path, path.parent)):
        yield Problem(_PLACE, "others can read it, and with it be the crawl", "leaves it to its owner alone")


def mend_session(directory: Path) -> None:
    path = directory / IN_CRAWL
    if not path.exists():
        return
    path.parent.chmod(0o700)
    path.chmod(0o600)
    try:
        read_cookies(path)
    except BadCookies:
        path.unlink()
