"""The worked examples of docs/writing-spiders.md, each run as its first line says, on a site of its kind."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from crawling import PROJECT, scrapy
from localweb import Answer, LocalWeb, Page, linked

EXAMPLES = PROJECT / "docs" / "examples"
GUIDE = (PROJECT / "docs" / "writing-spiders.md").read_text()


def run(name: str, seeds: str, folder: Path, **settings: object) -> list[dict[str, Any]]:
    """The example's items."""
    words = ("runspider", str(EXAMPLES / name), "-a", f"seeds={seeds}", "-O", "items.jsonl")
    fixed = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": "job", "LOG_LEVEL": "WARNING"}
    done = scrapy(*words, settings=fixed | settings, cwd=folder, env={"PYTHONPATH": str(PROJECT)})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_guide_shows_the_file(file: Path) -> None:
    """The guide leads to it; and what the file says of itself is how it is run."""
    assert f"(examples/{file.name})" in GUIDE
    assert file.read_text().splitlines()[0].partition(": ")[2].startswith(f"scrapy runspider {file.name} -a seeds=")


def test_extract_fields(tmp_path: Path) -> None:
    """Products are found in the pages' JSON-LD; broken JSON stops nothing."""

    def product(name: str) -> str:
        data = {"@type": "Product", "name": name, "offers": {"price": "9.50", "priceCurrency": "EUR"}}
        return f'<script type="application/ld+json">{json.dumps(data)}</script><p class="stock">7 left</p>'

    broken = '<script type="application/ld+json">{"@type": </script>'
    pages = {"/": linked("/a", "/b") + broken, "/a": linked("/") + product("Cup"), "/b": product("Plate") + broken}
    with LocalWeb(pages) as web:
        items = run("extract_fields.py", f"{web.root}/", tmp_path)
        fields = {"price": "9.50", "currency": "EUR", "in_stock": "7"}
        wanted = [
            {"url": f"{web.root}/{path}", "name": name, **fields} for path, name in (("a", "Cup"), ("b", "Plate"))
        ]
        assert sorted(items, key=lambda item: str(item["name"])) == wanted


def forum(path: str, host: str) -> Page | None:
    if path.startswith("/topics?page="):
        number = int(path.rpartition("=")[2])
        following = [f"/topics?page={number + 1}"] if number < 3 else []
        return linked(f"/topic/{number}", *following, "/login", "/members?sort=name")
    if path.startswith("/topic/"):
        return linked("/report") + f'<div data-topic="{path.rpartition("/")[2]}"></div>'
    if found := re.fullmatch(r"/api/posts\?topic=(\d)(?:&after=(\d))?", path):
        topic, after = int(found[1]), int(found[2] or 0)
        answer = {"topic": topic, "posts": [{"author": "Ann", "text": f"{topic}.{after}"}]}
        if after < 2:
            answer["next"] = f"/api/posts?topic={topic}&after={after + 1}"
        return Answer(json.dumps(answer).encode(), headers={"Content-Type": "application/json"})
    return None


def test_follow_pagination(tmp_path: Path) -> None:
    """All pages of the list, all topics, and all pages of what no link names; nothing else is asked for."""
    with LocalWeb(forum) as web:
        items = run("follow_pagination.py", f"{web.root}/topics?page=1", tmp_path)
        asked = sorted(web.paths())
    assert sorted(item["text"] for item in items) == [f"{topic}.{after}" for topic in (1, 2, 3) for after in range(3)]
    assert len(asked) == len(set(asked)) == 3 + 3 + 9
    assert not any(path.startswith(("/login", "/members", "/report")) for path in asked)


def test_add_pipeline(tmp_path: Path) -> None:
    """The pipeline writes what it is to keep; pages go on to the page store."""

    def product(name: str, price: str) -> str:
        return f'<div class="product"><h2>{name}</h2><span class="price">{price}</span></div>'

    pages = {
        "/": linked("/a") + product("Cup", "9,50 €"),
        "/a": product("Plate", "4 €") + product("Fork", "on request"),
    }
    with LocalWeb(pages) as web:
        items = run("add_pipeline.py", f"{web.root}/", tmp_path, PRICES_FILE="shop.sqlite")
    assert {item["name"] for item in items} == {"Cup", "Plate"}
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as database:
        assert sorted(database.execute("SELECT name, price FROM prices")) == [("Cup", 9.5), ("Plate", 4.0)]
    with closing(sqlite3.connect(tmp_path / "job" / "pages.sqlite")) as index:
        assert index.execute("SELECT count(*) FROM pages WHERE kind = 'page'").fetchone() == (2,)
