"""The text of an answer in the charset that a browser takes.

Scrapy takes any codec of Python's by its name, and a page that names `idna` or `rot13` then has no text but an error.
"""

from __future__ import annotations

from scrapy.http import Response, TextResponse

from sitecrawl.page.budget import within
from sitecrawl.page.charset import of_body
from sitecrawl.page.media_type import declared_type


def charset_of(response: Response) -> str:
    kinds = [value.decode("latin-1") for value in response.headers.getlist("Content-Type")]
    return of_body(response.body, declared_type(kinds).charset)


def text_of(response: Response) -> str:
    return response.body.decode(charset_of(response), "replace")


def in_its_charset(response: TextResponse) -> TextResponse:
    """The same answer, as far as pages are read, for selectors and `text`."""
    return response.replace(body=within(response.body), encoding=charset_of(response))
