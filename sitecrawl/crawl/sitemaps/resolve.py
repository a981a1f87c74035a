"""The URLs that a sitemap means by what it writes."""

from __future__ import annotations

from typing import Final

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.urls.url import Url, parse

_WEB: Final = ("http://", "https://", "HTTP://", "HTTPS://")


class Resolver:
    """Makes URLs of the texts of a sitemap at `base`; without a base, of absolute ones alone."""

    def __init__(self, base: str | None) -> None:
        self._base = base
        self._bare: tuple[str, ...] = ("www.",)
        if base is not None:
            self._bare += (parse(base).host + "/",)

    def rebase(self, base: str) -> None:
        """What comes from here on is relative to `base`, which itself may be."""
        if base and (url := self.url(base)) is not None:
            self._base = url.href

    def url(self, text: str, *, absolute: bool = False) -> Url | None:
        """The http(s) URL that `text` is, or stands for; None for anything else. `absolute`: nothing is guessed."""
        try:
            if text.startswith(_WEB):
                return parse(text)
            if absolute or not text or self._base is None:
                return None
            if text.startswith(self._bare):  # a relative URL by the letter, an absolute one by intention
                return parse(f"{self._base.partition(':')[0]}://{text}")
            return parse(text, self._base)
        except InvalidUrl:
            return None
