"""URLs of one kind have one shape, and no host has more shapes than there is room for."""

from __future__ import annotations

import pytest
from database_files import database_at
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.urls.tables import MAX_COARSE, MAX_KEY_SETS, MAX_SECTIONS, HostTable
from sitecrawl.urls.shape import MAX_KEYS, MAX_SEGMENTS, fold, shape_of

PATHS = st.text("/abc019.:-_?&=%~", max_size=60)


def shape(path: str) -> str:
    return str(shape_of(f"http://a.example{path}"))


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/wiki/Talk:Ada", "/wiki/Talk:"),
        ("/viewtopic.php?f=2&t=17", "/viewtopic.php?f&t"),
        ("/2024/05/12/some-title", "/#/*/*/*"),
        ("/docs/api/client.html", "/docs/*/*.html"),
        ("/issues/17", "/issues/*"),
        ("/issues/17.pdf", "/issues/*.pdf"),
        ("/songs/17.mp3", "/songs/*.mp3"),
        (f"/news/{'word-' * 10}.html", "/news/*.html"),
        ("/docs/v1.2", "/docs/*"),
        ("/people/.hidden", "/people/*"),
        ("/wiki/St._Louis_(city)", "/wiki/*"),
        ("/", "/"),
        ("/?page=2", "/?page"),
        ("/a", "/*"),
        ("/a/", "/*"),
        ("//a///b", "/a/*"),
        ("/a/b/c/d/e/f", "/a/*/*/*"),
        ("/x?&&b=1&a&b", "/*?a&b"),
        ("/blog/some-title?replytocom=17", "/blog/*?replytocom"),
        ("/shop/list.jsp;sid=r3fa9", "/shop/list.jsp?;sid"),
        ("/shop;a=1/list;sid=r3fa9;?q=2", "/shop/*?;a&;sid&q"),
        ("/?p=x.git;a=tree;h=4d2f", "/?a=tree&h&p"),
        ("/x?text=a;b;c", "/*?text"),
        ("/index.php?route=product/category&path=20", "/index.php?path&route=product/category"),
        ("/index.php?a=17&do=Édit", "/index.php?a&do"),
    ],
)
def test_examples(path, written):
    """A person recognises the URLs that a shape stands for."""
    assert shape(path) == written


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/cat-17/x", "/cat-18/x"),
        ("/item?id=1", "/item?id=200"),
        ("/forum?a=1&b=2", "/forum?b=2&a=1"),
        ("/2024/title-one", "/2023/another"),
        ("/r3fa9/x", "/77/y"),
        ("/p?filter1=a", "/p?filter2=a"),
        ("/n-1-2-3/x", "/n-1/x"),
        ("/blog/ada?replytocom=1", "/blog/babbage?replytocom=2"),
        ("/forum/ada;sid=x?page=2", "/forum/babbage;sid=y?page=3"),
    ],
)
def test_one_kind(one, other):
    """Numbers, other values and the order of keys make no difference."""
    assert shape(one) == shape(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/wiki/Talk:Ada", "/wiki/User:Ada"),
        ("/wiki/Ada", "/wiki/Ada?action=history"),
        ("/wiki/Ada?action=edit", "/wiki/Ada?action=history"),
        ("/viewtopic.php?id=1", "/viewforum.php?id=1"),
        ("/blog/ada", "/blog/ada;sid=x"),
        ("/blog/x", "/shop/x"),
        ("/a/x.html", "/a/x.pdf"),
        ("/a/b", "/a/b/c"),
    ],
)
def test_two_kinds(one, other):
    """Namespaces, keys, what a script is to do, folders, endings and depth do."""
    assert shape(one) != shape(other)


@given(PATHS)
def test_any_url(path):
    """Any URL has a shape, which is short and begins with a slash."""
    found = shape_of(f"http://a.example/{path}")
    assert str(found).startswith("/")
    assert found.segments <= MAX_SEGMENTS
    assert len(found.keys) <= MAX_KEYS + 1
    assert len(str(found)) <= 41 * (MAX_SEGMENTS + MAX_KEYS + 2)


@given(PATHS)
def test_values_do_not_matter(path):
    """Another fragment of digits in the values of a query leaves the shape as it is."""
    url = f"http://a.example/{path}"
    if "?" in url:
        assert shape_of(url + "&zz=1") == shape_of(url + "&zz=22")


@given(PATHS, st.booleans())
def test_folding_ends(path, wholly):
    """A folded shape is coarser, and folding it again changes nothing."""
    once = fold(shape_of(f"http://a.example/{path}"), wholly=wholly)
    assert fold(once, wholly=wholly) == once


@pytest.fixture
def table(tmp_path):
    database = database_at(tmp_path / "db", "test")
    yield HostTable(database, lambda name: name.encode()[:8].ljust(8))
    database.close()


def word(number: int) -> str:
    """Letters only: what has digits is one kind anyway."""
    return "".join(chr(97 + int(digit)) for digit in str(number))


MOST = MAX_SECTIONS + MAX_COARSE + 2 * (MAX_SEGMENTS + 1)
"""Shapes of a host's own, of paths with any query, and one for each number of segments, with a query and without."""


def test_a_host_that_makes_up_shapes(table):
    """Of a hundred thousand shapes a host keeps about a hundred at most, and each URL has its section."""
    host = table.named("a.example")
    for number in range(100_000):
        deep = "/x" * (number % 7)
        table.section(host, f"http://a.example/{word(number)}{deep}?{word(number // 3)}=1")
    assert len(host.sections) <= MOST


def test_a_script_that_makes_up_keys(table):
    """Sets of keys without end on one path share one section in the end, and leave room for other paths."""
    host = table.named("a.example")
    for number in range(10_000):
        table.section(host, f"http://a.example/search?{word(number)}=1")
    assert len(host.sections) == MAX_KEY_SETS + 1
    table.section(host, "http://a.example/other/page")
    assert len(host.sections) == MAX_KEY_SETS + 2


def test_a_path_of_its_own(table):
    """When a host has all of its shapes, a script's further sets of keys are not joined with those of others."""
    host = table.named("a.example")
    for number in range(MAX_SECTIONS):
        table.section(host, f"http://a.example/{word(number)}/x")
    one = table.section(host, "http://a.example/index.php?title=a&from=b")
    assert one.shape == "/index.php?*"
    assert table.section(host, "http://a.example/index.php?days=3") is one
    assert table.section(host, "http://a.example/index.php") is not one


def test_a_section_is_found_again(table):
    """A URL of a known shape goes to its section, also when no new ones are made any more."""
    host = table.named("a.example")
    first = table.section(host, "http://a.example/first/page")
    for number in range(1000):
        table.section(host, f"http://a.example/{word(number)}/x")
    assert table.section(host, "http://a.example/first/other") is first


@pytest.mark.parametrize("url", ["data:,text/html?x", "http://example.com", "http://example.com?a=1", "s3:", ""])
def test_any_url_has_a_shape(url):
    """Requests of spiders may be to URLs without a path, or of other schemes."""
    assert str(shape_of(url)) in {"/", "/?a"}
