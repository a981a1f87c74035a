"""Scrapy requests as bytes: all that a spider puts into one survives, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import attrs
import msgpack
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scrapy import FormRequest, Item, Request, Spider
from scrapy.http import JsonRequest, Response, XmlRpcRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.item import Field

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl.requests import VISIT, Unstorable, pack_request, unpack_request
from sitecrawl.page.items import Exchange, PageItem

URL = "http://a.example/page"


class Base(Spider):
    name = "base"

    def __private(self, response):
        """A callback that only this class can name."""

    def of_base(self):
        return self.__private


class ExampleSpider(Base):
    name = "example"

    def parse(self, response):
        pass

    def parse_item(self, response, price):
        pass

    def failed(self, failure):
        pass

    @classmethod
    def of_class(cls, response):
        pass

    def __private(self, response):
        """Another one of that name."""

    def own(self):
        return self.__private


class Product(Item):
    name = Field()
    tags = Field()


@dataclasses.dataclass
class Offer:
    price: Decimal
    product: Product | None = None


@dataclasses.dataclass
class Numbered:
    name: str
    number: int = dataclasses.field(init=False, default=7)


@attrs.define
class Shop:
    name: str


class SpecialRequest(Request):
    attributes = (*Request.attributes, "special")

    def __init__(self, *args, special=None, **kwargs):
        self.special = special
        super().__init__(*args, **kwargs)


def nested_tuples(depth: int):
    value: tuple[object, ...] = ()
    for _ in range(depth):
        value = (value,)
    return value


def page() -> PageItem:
    """As the page store has seen it: its digest is known."""
    exchange = Exchange(URL, 0.0, 0.1, 200, [], [(b"Server", b"x")], b"body")
    assert exchange.sha1
    return PageItem(URL, 200, 0.0, body=b"body", exchange=exchange)


@pytest.fixture
def spider():
    return ExampleSpider()


def round_trip(request: Request, spider: Spider) -> Request:
    return unpack_request(request.url, pack_request(request, spider), spider)


def assert_same(one: Request, other: Request) -> None:
    assert type(one) is type(other)
    for name in one.attributes:
        assert getattr(one, name) == getattr(other, name), name


def test_a_plain_get_needs_no_bytes(spider):
    """A request that is only a URL is stored as nothing."""
    assert pack_request(Request(URL), spider) is None
    assert_same(unpack_request(URL, None, spider), Request(URL))


HOSTS = st.sampled_from(["a.example", "a.example:8080", "a.example:080", "[::1]", "xn--bcher-kva.example", "a..b"])
ENDS = st.text(st.sampled_from("ab/.-_~%2f;?&=+#é@:|[]$,'!*() \\"), max_size=12)


@given(HOSTS, ENDS)
def test_a_plain_get_has_the_url_that_waits(host, end):
    """Whatever Scrapy would escape in it; only then its `meta` says how it was made."""
    url = f"http://{host}/{end}"
    try:
        escaped = Request(url).url
    except ValueError:
        assume(False)
    for request in (unpack_request(url, None, ExampleSpider()), unpack_request(url, b"\x80", ExampleSpider())):
        assert request.url == request.copy().url == url
        assert request.meta == ({} if escaped == url else {"verbatim_url": True})


def test_the_visit_is_not_part_of_a_request(spider):
    """The mark of the visit in `meta` is never stored."""
    assert pack_request(Request(URL, meta={VISIT: b"key"}), spider) is None
    assert round_trip(Request(URL, meta={VISIT: b"key", "a": 1}), spider).meta == {"a": 1}


def test_everything_at_once(spider):
    """Every argument of a request survives."""
    request = Request(
        URL,
        callback=spider.parse_item,
        errback=spider.failed,
        method="POST",
        headers={"X-Many": ["one", "two"], "Accept-Language": "de"},
        body=bytes(range(256)),
        cookies=[{"name": "a", "value": "b", "domain": "a.example", "path": "/"}],
        meta={"depth": 3, "proxy": "http://p.example:8080"},
        encoding="cp1252",
        priority=-7,
        dont_filter=True,
        flags=["cached", "retried"],
        cb_kwargs={"price": 1.5},
    )
    back = round_trip(request, spider)
    assert_same(back, request)
    assert back.headers.getlist("X-Many") == [b"one", b"two"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -1,
        2**64 - 1,
        -(2**63),
        1.5,
        float("inf"),
        "ünï",
        b"\x00\xff",
        [1, [2]],
        (1, (2, [3])),
        {1, "a"},
        frozenset({(1, 2)}),
        {1: "int key", (1, 2): "tuple key", None: 0, b"b": 1.0, False: 2},
        date(2024, 2, 29),
        datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=UTC),
        datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        datetime(2024, 2, 29),  # noqa: DTZ001 - as a spider would have it
        Decimal("1.10"),
        Decimal("-Infinity"),
        Product(name="cup", tags={"a", "b"}),
        Product(name="half"),
        Offer(Decimal("2.50"), Product(name="cup")),
        Shop("corner"),
        page(),
        nested_tuples(30),
        {"deep": [({"er": {Decimal(1)}},)]},
    ],
)
def test_what_spiders_put_into_meta(spider, value):
    """A value in `meta` or `cb_kwargs` comes back equal, and of the same type."""
    back = round_trip(Request(URL, meta={"value": value}, cb_kwargs={"value": value}), spider)
    for found in (back.meta["value"], back.cb_kwargs["value"]):
        assert found == value
        assert type(found) is type(value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.binary(max_size=9)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9) | st.decimals(allow_nan=False) | st.dates()
    | st.datetimes().map(lambda time: time.replace(fold=0)),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.integers(0, 9) | st.text("ab", max_size=3), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, max_size=4))
def test_any_meta(meta):
    """Whatever is made of the types that can be stored comes back equal."""
    spider = ExampleSpider()
    assert repr(round_trip(Request(URL, meta=meta), spider).meta) == repr(meta)


def test_requests_of_other_classes(spider):
    """A form, JSON, XML-RPC or a spider's own request is of the same class and content afterwards."""
    for request in (
        FormRequest(URL, formdata={"a": "1", "b": ["2", "3"]}),
        FormRequest(URL, method="GET", formdata={"q": "x"}),
        JsonRequest(URL, data={"b": 1, "a": [None]}, dumps_kwargs={"sort_keys": True}),
        XmlRpcRequest(URL, methodname="ping", params=(1,)),
        SpecialRequest(URL, special=("x", 1)),
    ):
        assert_same(round_trip(request, spider), request)


def test_a_json_request_keeps_how_it_dumps(spider):
    """`dumps_kwargs` count again when the data of a stored request are replaced."""
    back = round_trip(JsonRequest(URL, data={"a": 1}, dumps_kwargs={"indent": 1}), spider)
    assert back.replace(data={"b": 2}).body == json.dumps({"b": 2}, indent=1).encode()


def test_callbacks_by_name(spider):
    """Methods come back as the spider's own, private ones of each of its classes too."""
    for method in (spider.parse, spider.own(), spider.of_base(), spider.of_class, NO_CALLBACK):
        back = round_trip(Request(URL, callback=method, errback=None), spider)
        assert back.callback == method
    assert spider.own() != spider.of_base()


def test_a_method_belongs_to_the_spider_that_reads(spider):
    """After a restart a callback is that of the new spider object."""
    data = pack_request(Request(URL, callback=spider.parse), spider)
    other = ExampleSpider()
    assert unpack_request(URL, data, other).callback == other.parse


def local_item():
    @dataclasses.dataclass
    class Local:
        name: str

    return Local("x")


def cyclic():
    value: dict[str, object] = {}
    value["self"] = (value,)
    return value


@pytest.mark.parametrize(
    "value",
    [
        lambda: None,
        print,
        object(),
        sys.stdin,
        Response(URL),
        Request(URL),
        2**64,
        -(2**63) - 1,
        [10**100],
        "\ud800",
        cyclic(),
        nested_tuples(40),
        Numbered("x"),
        local_item(),
        {object(): 1},
        type("Text", (str,), {})("subclass"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored(spider, value):
    """What would not come back as it went is refused before it is written."""
    with pytest.raises(Unstorable):
        pack_request(Request(URL, meta={"value": value}), spider)


def test_callbacks_without_a_name(spider):
    """A function, a lambda, or a method of anything but this spider is refused with what it is."""
    functions: list[Any] = [lambda response: None, test_any_meta, ExampleSpider().parse, Product().copy, print]
    for function in functions:
        with pytest.raises(Unstorable, match="is not a method of the spider 'example'"):
            pack_request(Request(URL, callback=function), spider)
        with pytest.raises(Unstorable):
            pack_request(Request(URL, errback=function), spider)


def test_a_request_class_without_a_name(spider):
    """A request class that a function has made could not be found again, so it is refused."""
    hidden = type("Hidden", (Request,), {})
    with pytest.raises(Unstorable, match="cannot be stored"):
        pack_request(hidden(URL), spider)


# Bytes that nobody packed


@given(st.binary(max_size=60))
def test_hostile_bytes(data):
    """Any bytes are a request or a corrupt file, and no other error."""
    try_to_read(data)


PACKED = pack_request(
    Request(URL, cb_kwargs={"a": (1, {2})}, meta={"b": Decimal(1), "c": Offer(Decimal(2)), "d": date(2024, 1, 1)}),
    ExampleSpider(),
)


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_a_flipped_byte(place, byte):
    """A stored request of which a byte has changed is a request or a corrupt file, and no other error."""
    assert PACKED
    place %= len(PACKED)
    try_to_read(PACKED[:place] + bytes([byte]) + PACKED[place + 1 :])


FIELDS = ["class", "callback", "errback", "headers", "body", "cookies", "encoding", "priority", "flags", "cb_kwargs"]


@given(st.dictionaries(st.sampled_from([*FIELDS, "meta", "method", "url", "x"]), VALUES, max_size=3))
def test_hostile_fields(fields):
    """Fields with values that no request has are a corrupt file, and no other error."""
    try_to_read(msgpack.packb(fields, default=str))


def try_to_read(data: bytes) -> None:
    before = set(sys.modules)
    with contextlib.suppress(CorruptFile):
        assert unpack_request(URL, data, ExampleSpider()).url == URL
    assert set(sys.modules) == before


def nested(depth: int) -> bytes:
    """Extension types within one another."""
    data = b"\x90"
    for _ in range(depth):
        data = msgpack.packb(msgpack.ExtType(1, data))
    return data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x91" * 10_000,
        nested(5_000),
        msgpack.packb([]),
        msgpack.packb({1: 2}),
        msgpack.packb({"class": "os:system"}),
        msgpack.packb({"class": "scrapy:Spider"}),
        msgpack.packb({"class": "this.is.not.there:Request"}),
        msgpack.packb({"class": ["x"]}),
        msgpack.packb({"callback": "name"}),
        msgpack.packb({"callback": "not_there"}),
        msgpack.packb({"callback": 7}),
        msgpack.packb({"encoding": "no-such-encoding", "body": "text"}),
        msgpack.packb({"meta": msgpack.ExtType(99, b"")}),
        msgpack.packb({"meta": msgpack.ExtType(6, b"no number")}),
        msgpack.packb({"meta": {"a": msgpack.ExtType(7, msgpack.packb(["subprocess:Popen", {"args": "true"}]))}}),
    ],
)
def test_a_request_that_nobody_stored(spider, data):
    """Bytes that are no request are a corrupt file."""
    with pytest.raises(CorruptFile, match="cannot be read"):
        unpack_request(URL, data, spider)


def test_reading_imports_nothing(spider, tmp_path, monkeypatch):
    """A stored class is looked for in loaded modules only, and a module that loads its parts lazily loads none."""
    (tmp_path / "lazy_module.py").write_text("loaded = []\ndef __getattr__(name):\n    loaded.append(name)\n")
    (tmp_path / "not_loaded.py").write_text("from scrapy import Request\n")
    monkeypatch.syspath_prepend(tmp_path)
    import lazy_module  # type: ignore[import-not-found]

    for path in ("lazy_module:Part", "not_loaded:Request"):
        with pytest.raises(CorruptFile):
            unpack_request(URL, msgpack.packb({"class": path}), spider)
    assert lazy_module.loaded == []
    assert "not_loaded" not in sys.modules
