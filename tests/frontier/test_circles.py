"""Which sections grow as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.urls.circles import circles


def joined(brought: dict[str, dict[str, int]], **shapes: str) -> set[frozenset[str]]:
    names = {one for source, targets in brought.items() for one in (source, *targets)}
    keyed = {name.encode(): {to.encode(): n for to, n in brought.get(name, {}).items()} for name in names}
    found = circles(keyed, {name.encode(): shapes.get(name, f"/{name}") for name in names})
    return {frozenset(one.decode() for one in found if found[one] == circle) for circle in set(found.values())}


def test_a_maze_of_three_shapes():
    """They lead to one another; the page that leads there is none of them."""
    brought = {"home": {"a": 3, "list": 9}, "a": {"b": 90}, "b": {"c": 80}, "c": {"a": 70}}
    assert joined(brought) == {frozenset("abc"), frozenset({"home"}), frozenset({"list"})}


def test_a_list_and_what_it_lists():
    """A list that only leads on to its next page and to articles is not one with them."""
    brought = {"list": {"list": 50, "article": 900}, "article": {"article": 20}}
    assert joined(brought) == {frozenset({"list"}), frozenset({"article"})}


def test_a_weak_edge_joins_nothing():
    """One article that links to a forgotten list does not make it part of the articles."""
    brought = {"list": {"article": 900}, "article": {"list": 1, "article": 20}, "home": {"list": 30}}
    assert joined(brought) == {frozenset({"list"}), frozenset({"article"}), frozenset({"home"})}


def test_refinements_of_refinements():
    """Each facet of a shop brings the next one; a list of one key, turned over by another, is no such thing."""
    shop = {"all": {"one": 9}, "one": {"two": 30}, "two": {"item": 5}}
    shapes = {"all": "/shop", "one": "/shop?color", "two": "/shop?color&size", "item": "/item/*"}
    assert joined(shop, **shapes) == {frozenset({"all", "one", "two"}), frozenset({"item"})}
    folded = {"one": {"rest": 90}, "rest": {"rest": 400}}
    shapes = {"one": "/shop/*?color", "rest": "/*/*?*"}
    assert joined({"all": {"one": 9}, **folded}, all="/shop/*", **shapes) == {frozenset({"all", "one", "rest"})}
    forum = {"board": {"page": 9, "topic": 90}, "page": {"topic": 90}}
    shapes = {"board": "/board?f", "page": "/board?f&start", "topic": "/topic?t"}
    assert joined(forum, **shapes) == {frozenset({"board"}), frozenset({"page"}), frozenset({"topic"})}


NAMES = st.sampled_from("abcdefg")


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.just(10), max_size=4), max_size=7))
def test_as_by_reachability(brought):
    """Two sections are in one circle if each can be reached from the other."""

    def reached(start: str) -> set[str]:
        found, todo = {start}, [start]
        for one in todo:
            for to in brought.get(one, {}):
                if to not in found:
                    found.add(to)
                    todo.append(to)
        return found

    names = {one for source, targets in brought.items() for one in (source, *targets)}
    expected = {frozenset(b for b in reached(a) if a in reached(b)) for a in names}
    assert joined(brought) == expected


def test_a_long_chain():
    """Sections in a row by the thousand need no recursion."""
    chain = {str(number): {str(number + 1): 2} for number in range(2000)}
    assert len(joined(chain)) == 2001
