"""Scrapy requests as bytes and back, without pickle.

The frontier stores the URL; what else makes a request (method, headers, body, callback by name, `meta`,
`cb_kwargs`, ...) is one MessagePack map of the attributes that differ from a plain GET. MessagePack knows JSON's
types and bytes; extension types add what spiders put into `meta`: tuples, sets, dates, decimals, items. Anything
else, such as an open file or a lambda, cannot be stored: `Unstorable` says what it is.

Reading a stored request never imports anything: request and item classes are looked up among the modules that the
spider has already loaded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import msgpack
from itemadapter import ItemAdapter
from scrapy import Request, Spider
from scrapy.http.request import NO_CALLBACK

from sitecrawl.base.errors import CorruptFile, SitecrawlError
from sitecrawl.urls.url import CRAWLED, parse_or_none

ALLOWANCE: Final = "sitecrawl_requisites"
"""`Request.meta` key of a requisite: number of further requisites it may be made of."""
GUESS: Final = "sitecrawl_guess"
"""`Request.meta` key of a guess, such as a sitemap at a usual address, which is no error if it does not exist. The
scheduler removes it from requests that a spider makes of another's `meta`."""
GUESSES: Final = "guesses/response_status_count/"
"""Prefix of stats: wrong guesses by status."""
_NOT_NOW: Final = frozenset({408, 429})
"""Client errors that say nothing about the resource, only about the request (RFC 9110 §15.5.9, RFC 6585 §4)."""
_IS_SAFE: Final = re.compile(r"https?://[a-z0-9.-]+(:[1-9]\d{0,4})?/[\w/.~-]*(\?[\w/.~=&+-]+)?", re.ASCII).fullmatch
"""Match a URL in which nothing has to be escaped."""
SITEMAP: Final = "sitecrawl_sitemap"
"""`Request.meta` key of a sitemap's request with its kind, for workers that share a crawl."""
NOT_SHOWN: Final = "rendering/response_status_count/"
"""Prefix of stats: answers, by status, asked for again because a browser could not render them."""
NOT_DECODED: Final = "limits/response_status_count/"
"""Prefix of stats: answers, by status, that failed because they cannot be decoded."""
LOGIN: Final = "sitecrawl_login"
"""`Request.meta` key of a login request; neither it nor its answer is stored."""
LOGGED_OUT: Final = "sitecrawl_logged_out"
"""`Request.meta` key: how often the page came as for somebody who is logged out."""
FIRST_PART: Final = "sitecrawl_first_part"
"""`Request.meta` key: after how many bytes of the body to stop; then no size is too large."""
OF_REQUISITES: Final = "requisites/response_status_count/"
"""Prefix of stats: answers for requisites by status."""
OF_TDM_FILES: Final = "tdm/response_status_count/"
"""Prefix of stats: answers for TDM reservation files by status."""
REDIRECTS_SIZE: Final = "sitecrawl_redirects_size"
"""`Request.meta` key of a redirected request: bytes of headers and bodies of all redirects before it."""
COMES_BACK: Final = "sitecrawl_comes_back"
"""`Request.meta` key of a redirect back to a URL of its chain that is to be asked for again."""
COOKIES_CHANGED: Final = "sitecrawl_cookies_changed"
"""`Request.meta` key of a redirected request: for each URL of its chain, whether its answer changed the cookies."""
NEW_COOKIES: Final = "sitecrawl_new_cookies"
"""`Request.meta` key of a request whose answer changed the cookies."""
CONDITIONS: Final = {"If-None-Match": b"etag", "If-Modified-Since": b"last-modified"}
"""Conditional headers (RFC 9110, section 13.1), and the response headers that they repeat."""
VISIT: Final = "sitecrawl_visit"
"""`Request.meta` key of the visit that a request stands for; never stored."""

_OURS: Final = frozenset(
    {ALLOWANCE, COMES_BACK, COOKIES_CHANGED, GUESS, LOGGED_OUT, LOGIN, NEW_COOKIES, REDIRECTS_SIZE, SITEMAP}
)
_NO_CALLBACK_NAME = "-"
_TUPLE, _SET, _FROZENSET, _DATETIME, _DATE, _DECIMAL, _ITEM = range(1, 8)
_MAX_DEPTH = 32
"""Most nested extension types: msgpack takes 20 KB of the C stack for each."""


def is_miss(request: Request, status: int) -> bool:
    """Whether `status` only means that a guess was wrong. Server failures do not."""
    return 400 <= status < 500 and GUESS in request.meta and status not in _NOT_NOW


class Unstorable(SitecrawlError):
    """A request that cannot be stored."""


def pack_request(request: Request, spider: Spider) -> bytes | None:
    """Pack what a stored request needs beside its URL; None for a plain GET. Raises `Unstorable`."""
    try:
        fields = _differences(request, spider)
        return pack(fields) if fields else None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unstorable(f"{request} cannot be stored: {error}") from error


def unpack_request(url: str, data: bytes | None, spider: Spider) -> Request:
    """Restore what `pack_request` made. Raises `CorruptFile`."""
    if data is None:
        return _plain(url)
    try:
        fields = unpack(data)
        request_class = _loaded(fields.pop("class"), Request) if "class" in fields else Request
        for name in ("callback", "errback"):
            if name in fields:
                fields[name] = _method(spider, fields[name])
        return verbatim(request_class(url, **fields), url)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, msgpack.UnpackException) as error:
        raise CorruptFile(f"The stored request for {url} cannot be read: {error!r}") from error


def _plain(url: str) -> Request:
    """A GET of `url`, without Scrapy's escaping of unsafe characters: there are hardly ever any, and it takes as long
    as the rest of a request.
    """
    if not _IS_SAFE(url):
        return verbatim(Request(url), url)
    request = Request(url, meta={"verbatim_url": True})
    request.meta.clear()  # a redirect, which may be to anything, takes it along
    return request


def verbatim(request: Request, url: str) -> Request:
    """Set the URL of `request` to `url` unescaped: Scrapy escapes characters that a browser does not (`|`, `[`,
    `%zz`).
    """
    if request.url == url:
        return request
    return request.replace(url=url, meta={**request.meta, "verbatim_url": True})


def of_its_own(request: Request, page: Request | None) -> Request:
    """Drop our keys from a request's `meta` that a spider copied from another page. They stay if the request is for
    the page itself, for which the last redirect in `meta` is the page's own. `page`: the request that brought it.
    """
    if _OURS.isdisjoint(request.meta):
        return request
    led_by = request.meta.get("redirect_urls")
    if page is not None and isinstance(led_by, list) and led_by[-1:] == [page.url]:
        return request
    return request.replace(meta={key: value for key, value in request.meta.items() if key not in _OURS})


def host_of(url: str) -> str:
    """Host for politeness; the scheme for a URL without a host."""
    found = parse_or_none(url, schemes=CRAWLED)
    if found is not None:
        return found.host
    parts = urlsplit(url)
    return parts.netloc or f"{parts.scheme}:"


def _differences(request: Request, spider: Spider) -> dict[str, Any]:
    plain = _PLAIN
    fields = {
        name: value
        for name in request.attributes
        if name not in _APART and (value := getattr(request, name)) != plain.get(name)
    }
    if request.headers:
        fields["headers"] = dict(request.headers)
    if meta := {key: value for key, value in request.meta.items() if key != VISIT}:
        fields["meta"] = meta
    for name, function in (("callback", request.callback), ("errback", request.errback)):
        if function is not None:
            fields[name] = _name(spider, function)
    if type(request) is not Request:
        fields["class"] = _path(type(request), Request)
    return fields


_APART: Final = {"url", "headers", "meta", "callback", "errback"}
_PLAIN: Final = {
    name: getattr(Request("http://plain.example"), name) for name in Request.attributes if name not in _APART
}


def _name(spider: Spider, function: Callable[..., Any]) -> str:
    if function is NO_CALLBACK:
        return _NO_CALLBACK_NAME
    is_method = hasattr(function, "__func__")
    name = getattr(function, "__name__", "")
    private = (f"_{cls.__name__.lstrip('_')}{name}" for cls in type(spider).__mro__)  # how Python mangles `__name`
    for candidate in (name, *private):
        if is_method and getattr(spider, candidate, None) == function:
            return candidate
    raise Unstorable(f"{function} is not a method of the spider {spider.name!r}, so it has no name to store")


def _method(spider: Spider, name: str) -> Any:
    if name == _NO_CALLBACK_NAME:
        return NO_CALLBACK
    method = getattr(spider, name)
    if not hasattr(method, "__func__"):
        raise ValueError(f"{name} is no method of the spider {spider.name!r}")
    return method


def _path(of: type, base: type | None = None) -> str:
    """Importable path of `of`. Raises `ValueError` if there is none, as for a class defined in a function."""
    path = f"{of.__module__}:{of.__qualname__}"
    if _loaded(path, base) is not of:
        raise ValueError(f"{path} is another class")
    return path


def _loaded(path: str, base: type | None = None) -> Any:
    """The class at `path`, if its module is loaded already."""
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)  # `getattr` would let a module import something
    if not isinstance(found, type) or (base is not None and not issubclass(found, base)):
        raise ValueError(f"no class {path} is loaded")
    return found


def pack(value: Any, depth: int = 0) -> bytes:
    """Pack any value that a request may have in `meta`. Raises `TypeError`, `ValueError` or `OverflowError`."""
    _check_depth(depth)
    packed: bytes = msgpack.packb(value, default=partial(_extend, depth), strict_types=True)
    return packed


def pack_conditional(etag: str, modified: str, **more: object) -> bytes | None:
    """Pack a conditional GET (RFC 9110, section 13.1); None for a plain one.

    `etag` and `modified`: the last response's ETag and Last-Modified, unchanged. `more`: further attributes.
    """
    headers = zip(CONDITIONS, (etag, modified), strict=True)
    given = {name.encode(): [value.encode("latin-1", "replace")] for name, value in headers if value}
    extras = {**({"headers": given} if given else {}), **more}
    return pack(extras) if extras else None


def unpack(data: bytes, depth: int = 0) -> Any:
    """Undo `pack`. Raises `ValueError`, `TypeError`, `LookupError` or `msgpack.UnpackException`."""
    _check_depth(depth)
    return msgpack.unpackb(data, ext_hook=partial(_restore, depth), strict_map_key=False)


def _check_depth(depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError(f"more than {_MAX_DEPTH} tuples, sets or items are nested")


def _extend(depth: int, value: Any) -> msgpack.ExtType | str:
    kind = type(value)
    if kind in _SEQUENCES:
        return msgpack.ExtType(_SEQUENCES[kind], pack(list(value), depth + 1))
    if kind in _TEXTS:
        return msgpack.ExtType(_TEXTS[kind], str(value).encode())
    if isinstance(value, str) and kind.__module__ == "lxml.etree":  # a link's text, which drags its page along
        return str(value)
    if ItemAdapter.is_item(value) and not isinstance(value, dict):
        fields = dict(ItemAdapter(value))
        kind(**fields)  # raises TypeError if the item cannot be made of its fields again
        return msgpack.ExtType(_ITEM, pack([_path(kind), fields], depth + 1))
    raise TypeError(f"a {kind.__module__}.{kind.__qualname__} has no stored form")


def _restore(depth: int, code: int, data: bytes) -> Any:
    if code in _FROM_LIST:
        return _FROM_LIST[code](unpack(data, depth + 1))
    if code in _FROM_TEXT:
        return _FROM_TEXT[code](data.decode())
    if code != _ITEM:
        raise ValueError(f"{code} is no type of ours")
    path, fields = unpack(data, depth + 1)
    item_class = _loaded(path)
    if not ItemAdapter.is_item_class(item_class):
        raise ValueError(f"{path} is no item class")
    return item_class(**fields)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is no decimal") from error


_SEQUENCES: Final[dict[type, int]] = {tuple: _TUPLE, set: _SET, frozenset: _FROZENSET}
_TEXTS: Final[dict[type, int]] = {datetime: _DATETIME, date: _DATE, Decimal: _DECIMAL}
_FROM_LIST: Final[dict[int, Callable[[list[Any]], Any]]] = {code: kind for kind, code in _SEQUENCES.items()}
_FROM_TEXT: Final[dict[int, Callable[[str], Any]]] = {
    _DATETIME: datetime.fromisoformat,
    _DATE: date.fromisoformat,
    _DECIMAL: _decimal,
}
