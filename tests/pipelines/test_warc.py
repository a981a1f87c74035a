from __future__ import annotations

import json
from io import BytesIO
from types import SimpleNamespace

import pytest
from pagestore_helpers import exchange, page, stored
from scrapy.exporters import JsonLinesItemExporter

from pipelines import WarcPipeline
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore import WarcStore


@pytest.fixture
def store(tmp_path):
    store = WarcStore(tmp_path)
    yield store
    store.close()


def test_a_page_is_stored_and_passed_on(tmp_path, store):
    """The item goes on to the next pipeline as it came."""
    item = page(exchange())
    assert WarcPipeline(store).process_item(item) is item
    store.checkpoint()
    assert stored(tmp_path) == [("http://site.example/", b"<title>Hello</title>")]


@pytest.mark.parametrize("item", [{"url": "http://site.example/"}, PageItem("http://site.example/", 200, 1.0)])
def test_other_items_pass_untouched(tmp_path, store, item):
    """A dict, and a page that a spider made by hand, have no exchange to store."""
    assert WarcPipeline(store).process_item(item) is item
    assert store.checkpoint()["last_id"] == 0


def exported(item: PageItem) -> dict[str, object]:
    file = BytesIO()
    exporter = JsonLinesItemExporter(file)
    exporter.start_exporting()
    exporter.export_item(item)
    exporter.finish_exporting()
    line: dict[str, object] = json.loads(file.getvalue())
    return line


def test_every_field_of_a_page_can_be_exported():
    """A feed with all fields is text: the body as text, links as addresses, the exchange as a summary."""
    of = exchange(body="<p>Grüße</p>".encode(), ip="192.0.2.1")
    item = page(of, links=[SimpleNamespace(url="http://site.example/next")], key=b"\x01\xff")
    line = exported(item)
    assert line["body"] == "<p>Grüße</p>"
    assert line["links"] == ["http://site.example/next"]
    assert line["key"] == "01ff"
    assert line["exchange"] == {
        "method": "GET",
        "protocol": "HTTP/1.1",
        "ip": "192.0.2.1",
        "seconds": 0.5,
        "headers": [["Content-Type", "text/html; charset=utf-8"]],
    }


def test_a_body_that_is_no_text_can_be_exported():
    """Bytes that are no UTF-8 do not stop an export."""
    line = exported(PageItem("http://site.example/", 200, 1.0, body=b"\xff\xfe"))
    assert line["body"] == "\ufffd\ufffd"
    assert line["exchange"] is None
