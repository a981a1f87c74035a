"""Where rendering is worth it."""

from __future__ import annotations

from pathlib import Path

from database_files import database_at

from sitecrawl.page.items import PageItem
from sitecrawl.plugins.rendering.sections import _AGAIN, _MAX_FOLDERS, _SAMPLES, Sections, _section_of, has_gained

TEXT = b"<script></script><p>" + b"word " * 50
AGAIN_OF_80 = 4
"""Of 80 pages in vain so many are rendered besides the first ones."""
SHELL = b"<script></script><div id=root></div>"


def page(path: str, body: bytes = TEXT) -> PageItem:
    return PageItem(url=f"http://a.example{path}", status=200, fetched=0.0, content_type="text/html", body=body)


class Crawl:
    """Renders what is wanted; `gained` says of a path whether a browser makes more of it."""

    def __init__(self, folder: Path) -> None:
        self._database = database_at(folder, "h")
        self.sections = Sections(self._database)

    def rendered(self, *paths: str, gained: bool, body: bytes = TEXT) -> list[str]:
        found = []
        for path in paths:
            if self.sections.wants(page(path, body)):
                found.append(path)
                self.sections.learn(page(path, body), gained=gained)
        return found

    def again(self) -> None:
        """The next run."""
        batch = self._database.batch()
        self.sections.prepare(batch)
        self._database.write(batch)
        self.sections = Sections(self._database)


def numbered(folder: str, count: int) -> list[str]:
    return [f"{folder}{n}" for n in range(count)]


def test_the_names_of_sections() -> None:
    """Two folders at the most; what is no folder is none."""
    names = {
        path: _section_of(f"http://a.example{path}") for path in ("", "/", "/x", "/en/x", "/en/p/x", "/en/p/q/x")
    }
    assert [*names.values()] == ["a.example/"] * 3 + ["a.example/en/"] + ["a.example/en/p/"] * 2


def test_the_names_in_a_query() -> None:
    """They are part of a section, in any order and without their values, as long as they are few."""
    names = [_section_of(f"http://a.example/x?{query}") for query in ("b=1&a=2", "a=3&b", "&&", "a&b&c&d&e", "/to/x")]
    assert names == ["a.example/?a&b", "a.example/?a&b", "a.example/", "a.example/", "a.example/?/to/x"]


def test_routes_in_the_query(tmp_path: Path) -> None:
    """They are learnt apart from the pages beside them that say all themselves."""
    crawl = Crawl(tmp_path)
    assert len(crawl.rendered(*numbered("/", 9), gained=False)) == _SAMPLES + 1
    assert len(crawl.rendered(*numbered("/app?view=", 9), gained=True)) == 9
    crawl.again()
    assert crawl.rendered("/a", "/app?view=a", gained=True) == ["/app?view=a"]


def test_more_routes_than_are_told_apart(tmp_path: Path) -> None:
    """A trap that makes up names, or folders with queries, is not rendered for ever."""
    crawl = Crawl(tmp_path)
    names = [f"/?{name}={n}" for name in range(_MAX_FOLDERS + 20) for n in range(4)]
    assert len(crawl.rendered(*names, gained=False)) == _SAMPLES * (_MAX_FOLDERS + 1) + AGAIN_OF_80
    folders = [f"/u/{user}/{n}?page={n}" for user in range(_MAX_FOLDERS + 20) for n in range(4)]
    assert len(crawl.rendered(*folders, gained=False)) == _SAMPLES * (_MAX_FOLDERS + 1) + AGAIN_OF_80


def test_a_page_that_is_empty_between_header_and_footer() -> None:
    """It has gained by its text, though the frame has nearly as much."""
    frame = b"<p>" + b"frame " * 100
    assert has_gained(page("/", frame), page("/", frame + b"word " * 120))
    assert not has_gained(page("/", frame), page("/", frame + b"word " * 60))


def test_a_folder_below_one_that_says_all_itself(tmp_path: Path) -> None:
    """Behind a language there are sites of all kinds: each folder is tried."""
    crawl = Crawl(tmp_path)
    assert len(crawl.rendered(*numbered("/en/", 9), gained=False)) == _SAMPLES + 1
    assert len(crawl.rendered(*numbered("/en/shop/", 9), gained=True)) == 9
    crawl.again()
    assert crawl.rendered("/en/a", "/en/shop/a", gained=True) == ["/en/shop/a"]


def test_more_folders_than_are_told_apart(tmp_path: Path) -> None:
    """A site with a folder for each of its users is not rendered for ever."""
    crawl = Crawl(tmp_path)
    paths = [f"/u/{user}/{n}" for user in range(_MAX_FOLDERS + 20) for n in range(4)]
    assert len(crawl.rendered(*paths, gained=False)) == _SAMPLES * (_MAX_FOLDERS + 1) + AGAIN_OF_80


def test_shells_among_pages_that_say_all_themselves(tmp_path: Path) -> None:
    """They are tried, and rendered if that brings something; the other pages are not."""
    crawl = Crawl(tmp_path)
    crawl.rendered(*numbered("/a/", 9), gained=False)
    assert len(crawl.rendered(*numbered("/a/", 9), gained=True, body=SHELL)) == 9
    assert crawl.rendered(*numbered("/a/", 5), gained=False) == []
    assert len(crawl.rendered(*numbered("/b/", 6), gained=False, body=SHELL)) == _SAMPLES


def test_a_site_that_is_built_anew(tmp_path: Path) -> None:
    """One page of ever more, and then of a hundred, shows it, and then the next ones decide."""
    crawl = Crawl(tmp_path)
    crawl.rendered(*numbered("/", _SAMPLES), gained=False)
    assert crawl.rendered(*numbered("/", 424), gained=False) == [f"/{n}" for n in (3, 11, 27, 59, 123, 223, 323, 423)]
    assert len(crawl.rendered(*numbered("/", _AGAIN + 9), gained=True)) == 10
    assert len(crawl.rendered(*numbered("/", 30), gained=False)) < 20
