"""What a page's links promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitecrawl.page.items import Link
from sitecrawl.plugins.focused.shark_search import SCALE, Focus, _Folders

if TYPE_CHECKING:
    from sitecrawl.plugins.focused.topic import Topic


def link(path: str, text: str = "") -> Link:
    return Link(f"http://a.example/{path}", "a.example", text)


def test_words_of_the_link_and_relevance_of_the_page(new_topic: type[Topic]) -> None:
    """Both make a link promise; neither alone promises as much as both."""
    focus = Focus(new_topic(["solar panels"]), 0.1)
    links = [link("x/solar-panels"), link("y/1", "Solar panels"), link("z/2", "imprint")]
    on_topic = focus.promises(links, 0.6, 0)
    off_topic = focus.promises(links, 0.0, 0)
    assert on_topic[0] > on_topic[2] > 0
    assert on_topic[1] > on_topic[2]
    assert off_topic[0] > off_topic[2] == 0
    assert all(0 <= promise <= SCALE for promise in on_topic + off_topic)


def test_a_promise_fades(new_topic: type[Topic]) -> None:
    """Behind a page that did not keep its promise there is half of it."""
    focus = Focus(new_topic(["solar"]), 0.1)
    first = focus.promises([link("a/1")], 0.0, 800)[0]
    assert focus.promises([link("a/2")], 0.0, first)[0] == first / 4 > 0


def test_a_folder_speaks_for_its_pages(new_topic: type[Topic]) -> None:
    """Where relevant pages were read, more are promised, and where others were, fewer."""
    focus = Focus(new_topic(["solar panels"]), 0.1)
    for number in range(5):
        focus.page(f"http://a.example/good/{number}", "solar panels")
        focus.page(f"http://a.example/bad/{number}", "cookies")
    good, unknown, bad = focus.promises([link("good/9"), link("new/9"), link("bad/9")], 0.3, 0)
    assert good > unknown > bad
    assert focus.harvest_rate == 0.5


def test_folders_are_bounded() -> None:
    """Those that were not met for the longest time go."""
    folders = _Folders(2)
    for name in ("a", "b", "a", "c"):
        folders.add(f"http://x.example/{name}/1", 1.0)
    assert [folders.mean(f"http://x.example/{name}/2?q=/") for name in "abc"] == [1.0, None, 1.0]
