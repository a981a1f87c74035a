"""Decode responses in the charset that a browser would take.

Scrapy accepts any Python codec, so a page that declares `idna` or `rot13` would have an error instead of text.
"""

from __future__ import annotations

from scrapy.http import Response, TextResponse

from sitecrawl.page.budget import within
from sitecrawl.page.charset import of_body
from sitecrawl.page.media_type import declared_type


def _charset_of(response: Response) -> str:
    kinds = [value.decode("latin-1") for value in response.headers.getlist("Content-Type")]
    return of_body(response.body, declared_type(kinds).charset)


def text_of(response: Response) -> str:
    return response.body.decode(_charset_of(response), "replace")


def in_its_charset(response: TextResponse) -> TextResponse:
    """The response for selectors and `text`: cut at the limit for reading, in its charset."""
    return response.replace(body=within(response.body), encoding=_charset_of(response))
