"""Whether two versions of a page say the same."""

from __future__ import annotations

import pytest

from sitecrawl.page.links import text_digest


def digest(text: str, charset: str, markup: str = "") -> bytes:
    return text_digest("text/html", charset, f"<html><head>{markup}</head><body>{text}".encode(charset))


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252", "utf-16-le"])
def test_every_charset(charset: str) -> None:
    """Other letters are a change, whatever bytes they have; another charset or markup is none."""
    assert digest("Gr\xf6\xdfe", charset) == digest("Gr\xf6\xdfe", "utf-8", "<meta name=token content=1>")
    assert digest("Gr\xf6\xdfe", charset, "<meta name=token content=2>") == digest("Gr\xf6\xdfe", charset)
    assert digest("Gr\xf6\xdfe", charset) != digest("Gr\xe4\xdfe", charset)
