"""Rules that are proposed from example pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from crawling import scrapy
from localweb import Answer, LocalWeb, Page

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.export.sources import PageText
from sitecrawl.plugins.extract.extraction import Extraction
from sitecrawl.plugins.extract.rule_files import read_rules
from sitecrawl.plugins.extract.suggest import suggested

SHOP = """<html><body><div class="head">Our shop</div><h1>{name}</h1><p class="price big">EUR {price}</p>
<script type="application/ld+json">
{{"@type": "Product", "name": "{name}", "brand": "Same", "sku": "{price}"}}</script>
<ul><li class="tag">a</li><li class="tag">{name}</li></ul><time class="day">{day}</time></body></html>"""


def page(number: int, name: str, price: str, day: str) -> PageText:
    return PageText(f"http://a.example/bike/{number}", SHOP.format(name=name, price=price, day=day))


PAGES = [page(1, "Bike", "12,50", "May"), page(2, "Bell", "3,00", "June")]


def test_two_products(tmp_path: Path) -> None:
    """What differs is a field, what is the same everywhere or stands there often is none; the rules are sound."""
    (file := tmp_path / "rules.yaml").write_text(suggested(PAGES))
    rules = read_rules(file)
    items = [outcome.item for one in PAGES for outcome in Extraction(rules, one).outcomes()]
    assert items[1] == {
        "rule": "thing", "url": "http://a.example/bike/2", "name": "Bell", "sku": "3,00", "h1": "Bell",
        "price": "3,00", "day": "June",
    }  # fmt: skip
    assert rules.rules[0].url is not None


def test_a_number_in_a_name(tmp_path: Path) -> None:
    """It stays a part of the name; of an amount it is the value."""
    pages = [page(number, f"Bike {number}", f"{number}9.50 kr", f"SKU-{number}") for number in (1, 2)]
    (file := tmp_path / "rules.yaml").write_text(suggested(pages))
    item = next(iter(Extraction(read_rules(file), pages[0]).outcomes())).item
    assert item is not None
    assert (item["h1"], item["day"], item["price"]) == ("Bike 1", "SKU-1", "19.50")


def test_an_answer(tmp_path: Path) -> None:
    """Of JSON the objects of its list."""
    answer = json.dumps({"total": 2, "items": [{"id": 1, "full name": "a"}, {"id": 2}]})
    (file := tmp_path / "rules.yaml").write_text(
        suggested([PageText("http://a.example/api", answer, "application/json")])
    )
    extraction = Extraction(read_rules(file), PageText("http://a.example/api", answer, "application/json"))
    items = [outcome.item for outcome in extraction.outcomes()]
    assert [(item["id"], item["full_name"]) for item in items if item] == [("1", "a"), ("2", None)]


def test_nothing_in_common() -> None:
    """One line says what to take."""
    with pytest.raises(OptionError, match="two pages of one kind"):
        suggested([PageText("http://a.example/", "<p>a"), PageText("http://a.example/b", "<p>b")])


def test_the_command() -> None:
    """It fetches both pages, stores nothing, and prints the file."""
    site: dict[str, Page] = {
        f"/bike/{number}": Answer(one.text.encode(), headers={"Content-Type": "text/html"})
        for number, one in enumerate(PAGES)
    }
    with LocalWeb(site) as web:
        done = scrapy(
            "rules", "suggest", f"{web.root}/bike/0", f"{web.root}/bike/1", settings={"SITECRAWL_DELAY_FACTOR": 0}
        )
    assert (done.returncode, "price: " in done.stdout) == (0, True), done.stderr
