"""What can go wrong with a store elsewhere."""

from __future__ import annotations

from sitecrawl.base.errors import SitecrawlError


class RemoteError(SitecrawlError):
    """A store elsewhere that does not take a file, or does not answer."""

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal
        """Whether the store said no: another attempt would hear the same, until somebody changes something."""
