"""What a page says of itself to machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from console import command
from crawling import crawl
from localweb import LocalWeb

from sitecrawl.plugins.export.metadata import Metadata

URL = "http://shop.example/folder/page"


def metadata(html: str) -> Metadata:
    return Metadata(URL, html, "text/html")


def test_jsonld() -> None:
    """Each script as it stands; what is no JSON is left out, and so is what nothing could write."""
    deep = "[" * 90 + "]" * 90
    scripts = ('{"@type": "Product", "offers": [{"price": 1.5}]}', "{broken", "<!-- [1, 2] -->", deep)
    html = "".join(f"<script type='application/ld+json'>{script}</script>" for script in scripts)
    assert metadata(html).jsonld == [{"@type": "Product", "offers": [{"price": 1.5}]}, [1, 2]]
    assert metadata("<p>x").jsonld is None


def test_opengraph() -> None:
    """OpenGraph and Twitter's cards, by name; nothing else of what `<meta>` has."""
    html = (
        "<meta property=og:title content=' A &amp; b '><meta property=og:image content=1>"
        "<meta property=OG:image content=2>"
        "<meta name=twitter:card content=summary><meta name=description content=x><meta property=article:tag>"
    )
    assert metadata(html).opengraph == {"og:title": "A & b", "og:image": ["1", "2"], "twitter:card": "summary"}


ITEM = """
<div itemscope itemtype="https://schema.org/Product http://other.example/P" itemid="/p/1" itemref="more none">
  <h1 itemprop="name">A  <b>red</b> bike<script>x</script></h1>
  <img itemprop="image" src="red.png"><a itemprop="url sameAs" href="/p">x</a>
  <span itemprop="price" content="9.5">9,50</span><time itemprop="date" datetime="2026-11-26">today</time>
  <div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="currency" content="EUR"></div>
  <div itemscope itemtype="x"><i itemprop="name">another's</i></div>
</div>
<p id="more"><i itemprop="colour">red</i>
"""


def test_microdata() -> None:
    """As HTML says: nested items, `itemref`, and the value that each element has."""
    found = metadata(ITEM).microdata
    assert found
    product, other = found
    assert product == {
        "type": ["https://schema.org/Product", "http://other.example/P"],
        "id": "http://shop.example/p/1",
        "properties": {
            "name": ["A red bike"], "image": ["http://shop.example/folder/red.png"],
            "url": ["http://shop.example/p"], "sameAs": ["http://shop.example/p"],
            "price": ["9.5"], "date": ["2026-11-26"],
            "offers": [{"type": ["https://schema.org/Offer"], "properties": {"currency": ["EUR"]}}],
            "colour": ["red"],
        },
    }  # fmt: skip
    assert other == {"type": ["x"], "properties": {"name": ["another's"]}}


@pytest.mark.parametrize(
    "html",
    [
        "<div itemscope id=a itemref=b></div><div id=b itemprop=x itemscope itemref=b><i itemprop=y>1</i></div>",
        "<div itemscope itemprop=x>" * 300 + "y",
        "<div itemscope>" + "<div itemprop=x>" * 200 + "long text " * 1_000,
        "<p id=a>" + "<i itemprop=x>y</i>" * 2_000 + "</p>" + "<div itemscope itemref=a></div>" * 2_000,
    ],
    ids=["circle", "deep items", "deep texts", "shared"],
)
def test_what_is_made_to_cost(html: str) -> None:
    """Circles end, depth ends, and what belongs to many counts for each of them."""
    assert len(json.dumps(metadata(html).microdata)) < 12_000_000


def test_the_columns(tmp_path: Path) -> None:
    """Of a real crawl: objects in JSON lines, their JSON in CSV and Parquet."""
    page = f"<meta property=og:type content=shop><script type='application/ld+json'>{{\"a\": [1]}}</script>{ITEM}"
    with LocalWeb({"/": page + "<a href=/plain>x</a>", "/plain": "<p>x"}) as web:
        assert crawl(web.root, tmp_path / "job").returncode == 0
    fields = ("export", "-d", "job", "--fields", "opengraph,jsonld,microdata")
    rows: list[dict[str, Any]] = [json.loads(line) for line in command(*fields, cwd=tmp_path).stdout.splitlines()]
    assert rows[0]["opengraph"] == {"og:type": "shop"}
    assert rows[0]["jsonld"] == [{"a": [1]}]
    assert rows[0]["microdata"][0]["properties"]["colour"] == ["red"]
    assert rows[1] == dict.fromkeys(rows[0])
    assert '"{""og:type"": ""shop""}"' in command(*fields, "--format", "csv", cwd=tmp_path).stdout
    assert command(*fields, "-o", "rows.parquet", cwd=tmp_path).returncode == 0
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [{name: value and json.loads(value) for name, value in row.items()} for row in read] == rows
