"""The process that reads pages: `python -m sitecrawl.plugins.isolation.worker`."""

from __future__ import annotations

import codecs
import gzip
from collections import Counter
from typing import Any, Final

from sitecrawl.base.limits import AnyLimit
from sitecrawl.page import charset
from sitecrawl.page.budget import Budget
from sitecrawl.page.codings import Damaged, TooLarge, at_once, checked, decoding
from sitecrawl.page.items import Headers, Reading
from sitecrawl.page.links import PageOptions, read_page, text_digest
from sitecrawl.page.markup import TreeOptions
from sitecrawl.page.process_serving import Answering, serve
from sitecrawl.plugins.isolation.facts import facts_of

_REHEARSED: Final = '<title>&eacute;</title><base href=/><a href="../x?ä">x</a><p hidden>'


def main() -> None:
    serve(_ready)


def _ready(begin: dict[str, Any]) -> Answering:
    options = _options_of(begin["page"])
    _rehearse(options)
    return lambda request, body: _answer(request, body, options)


def _answer(request: dict[str, Any], body: bytes, options: PageOptions) -> tuple[dict[str, Any], bytes]:
    """The answer to one request: what it says, and the body without its codings where it had some."""
    if "digest_of" in request:
        return {"digest": text_digest(request["digest_of"], request["charset"], body, options).hex()}, b""
    headers: Headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request["headers"]]
    codings = [value.decode("latin-1") for name, value in headers if name.lower() == b"content-encoding"]
    kept: tuple[str, ...] = ()
    if codings and request["decode"]:
        try:
            body, kept, *_ = checked(at_once(decoding(body, codings, request["max_size"])))
        except TooLarge as error:
            return {"too_large": str(error)}, b""
        except Damaged as error:
            return {"damaged": str(error)}, b""
    facts = facts_of(read(request["url"], body, headers, options)) if request["page"] else None
    is_decoded = bool(codings and request["decode"])
    said = {"facts": facts, "kept": kept, "decoded": is_decoded}
    return said, body if is_decoded else b""


def read(url: str, body: bytes, headers: Headers, options: PageOptions) -> Reading:
    """The page that `body`, without content coding, is."""
    met: Counter[AnyLimit] = Counter()
    return Reading(read_page(url, body, headers, options=options, met=met), met)


def _options_of(given: dict[str, Any]) -> PageOptions:
    return PageOptions(**{**given, "tree": TreeOptions(**given["tree"]), "budget": Budget(**given["budget"])})


def _rehearse(options: PageOptions) -> None:
    """Do all that there is to do once, and have every codec: what is loaded when it is first needed is loaded now."""
    for name in charset.NAMES:
        codecs.lookup(name)
        codecs.getincrementaldecoder(name)
    page = _REHEARSED.encode()
    for label in ("utf-8", "windows-1252"):
        headers = [["Content-Type", f"text/html; charset={label}"], ["Content-Encoding", "gzip"]]
        request = {"url": "http://a.example/", "headers": headers, "decode": True, "page": True, "max_size": 1 << 20}
        _answer(request, gzip.compress(page), options)
        _answer(request, gzip.compress(page * (options.tree.max_size // len(page) + 1)), options)
    for coding in ("deflate", "br", "zstd"):
        headers = [["Content-Encoding", coding]]
        _answer({"headers": headers, "decode": True, "page": False, "max_size": 1}, b"\x00", options)


if __name__ == "__main__":
    main()
