"""Which links belong to a crawl."""

from __future__ import annotations

from cProfile import Profile
from pathlib import Path

import pytest
from database_files import database_at, put_away
from waiting import until

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.places import Places, places_of, write_place
from sitecrawl.frontier.scope import Scope
from sitecrawl.http.sheets import Sheet, Sheets
from sitecrawl.page.items import Link
from sitecrawl.urls.place import KINDS
from sitecrawl.urls.url import parse


def scope_of(kind: str, *seeds: str, **patterns) -> Scope:
    scope = Scope(kind, **patterns)
    for seed in seeds:
        scope.add_seed(parse(seed))
    return scope


def admits(scope: Scope, url: str) -> bool:
    parsed = parse(url)
    return scope.admits(Link(parsed.href, parsed.host))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", ["", "wo", "wew", "oo", "owdoew"])
def test_links_of_a_page_keep_their_order(kind, names):
    """Of many at once those are followed that would be each by itself, whichever hosts they share."""
    hosts = {"w": "www.example.org", "e": "example.org", "d": "docs.example.org", "o": "other.example"}
    links = [Link(f"http://{hosts[name]}/{number}", hosts[name]) for number, name in enumerate(names)]
    scope = scope_of(kind, "http://www.example.org/")
    assert scope.admitted(links) == [link for link in links if scope.admits(link)]
    assert scope.admitted(links) is not links


@pytest.mark.parametrize(
    ("kind", "seed", "inside", "outside"),
    [
        (
            "host",
            "https://www.example.org/a",
            ["http://www.example.org/", "https://www.example.org:443/x", "https://WWW.example.org/"],
            ["https://example.org/", "https://www.example.org:8443/", "https://www.example.org.evil.net/"],
        ),
        ("host", "http://localhost:8080/", ["http://localhost:8080/x"], ["http://localhost/", "http://localhost:81/"]),
        (
            "site",
            "https://www.example.co.uk/",
            ["http://docs.example.co.uk:8080/", "https://example.co.uk/"],
            ["https://other.co.uk/", "https://example.uk/", "https://notexample.co.uk/"],
        ),
        ("site", "https://a.github.io/", ["https://a.github.io/x"], ["https://b.github.io/", "https://github.io/"]),
        ("site", "http://192.0.2.7/", ["http://192.0.2.7/x"], ["http://192.0.2.8/", "http://192.0.2.7:81/"]),
        ("site", "http://[::1]:81/", ["http://[::1]:81/x"], ["http://[::1]/", "http://[::2]:81/"]),
        ("site", "http://bücher.org/", ["http://www.xn--bcher-kva.org/"], ["http://bucher.org/"]),
        (
            "prefix",
            "https://example.org/docs/",
            ["https://example.org/docs/a/b?c", "http://example.org/docs/"],
            ["https://example.org/doc", "https://example.org/docs", "https://example.org/docsets/", "https://example.org/"],
        ),
        (
            "prefix",
            "https://example.org/docs/index.html?page=/a/b",
            ["https://example.org/docs/other.html"],
            ["https://example.org/index.html", "https://example.org:81/docs/", "https://www.example.org/docs/"],
        ),
        ("prefix", "https://example.org/docs", ["https://example.org/other"], ["https://example.net/docs"]),
        ("prefix", "https://example.org/a//b", ["https://example.org/a//c"], ["https://example.org/a/c"]),
        ("any", "https://example.org/", ["http://elsewhere.example/", "http://127.0.0.1/"], []),
    ],
)  # fmt: skip
def test_scopes(kind, seed, inside, outside):
    """A link is in scope if it shares with the seed what the scope names."""
    scope = scope_of(kind, seed)
    assert admits(scope, seed)
    assert [url for url in inside if not admits(scope, url)] == []
    assert [url for url in outside if admits(scope, url)] == []


SEEDS = ("http://a.example/x/", "http://www.a.example:81/", "http://b.example/y/1")
LINKS = [
    "http://a.example/x/1", "http://a.example/y", "http://www.a.example:81/y", "http://www.a.example/",
    "http://b.example/y/2", "http://c.example/",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_places_on_disk(tmp_path: Path, kind: str) -> None:
    """The rows that a crawl keeps of its seeds answer for a scope of any kind, as its memory does."""
    scope = scope_of(kind, *SEEDS)
    database = database_at(tmp_path / "db", "test")
    batch = database.batch()
    for place, led_to in scope.take_new().items():
        write_place(batch, place, led_to=led_to)
    database.write(batch, sync=False)
    found = Scope(kind, places=Places(database, kind))
    links = [*LINKS, "http://a.exampl/", "http://b.example/", "http://b.example:8/y/", "http://b.example/y/z/"]
    assert [admits(found, url) for url in links] == [admits(scope, url) for url in links]
    assert list(places_of(database)) == sorted(scope_of("any", *SEEDS).take_new().items())
    put_away(database)


@pytest.mark.parametrize("kind", ["host", "site", "prefix"])
def test_nothing_without_seeds(kind):
    """Before there is a seed, only the scope `any` has links in it."""
    assert not admits(Scope(kind), "http://a.example/")
    assert admits(Scope("any"), "http://a.example/")


def test_several_seeds():
    """A link need only be near one of the seeds."""
    scope = scope_of("prefix", "http://a.example/x/", "http://a.example/y/z/", "http://b.example/")
    near = ["http://a.example/x/1", "http://a.example/y/z/1", "http://b.example/1", "http://a.example/y/1"]
    assert [admits(scope, url) for url in near] == [True, True, True, False]


def test_patterns_take_away():
    """A link must match one of `allow`, if there is any, and none of `deny`; both look anywhere in the URL."""
    scope = scope_of("site", "http://a.example/", allow=["/news/", r"\.html$"], deny=["print", "sort="])
    urls = ["news/1", "x.html", "news/print", "x", "news/?sort=1"]
    assert [admits(scope, f"http://a.example/{url}") for url in urls] == [True, True, False, False, False]
    assert not admits(scope, "http://b.example/news/")


def test_each_pattern_is_one_of_its_own():
    """Flags, groups and alternatives of a pattern do not touch the other patterns."""
    scope = scope_of("any", allow=["(?i)NEWS", r"(?P<a>x)(?P=a)", r"(?P<a>y)\1"])
    urls = ["News", "xx", "yy", "XX", "x"]
    assert [admits(scope, f"http://a.test/{url}") for url in urls] == [True, True, True, False, False]


@pytest.mark.parametrize("name", ["allow", "deny"])
@pytest.mark.parametrize("pattern", ["(", "*", "a{2,1}", "(?P<a", "x{99999999999999}"])
def test_a_pattern_that_is_none(name, pattern):
    """A wrong regular expression is named, and so is the argument that it came in."""
    with pytest.raises(OptionError, match=rf"{name}: .* is no regular expression"):
        scope_of("any", **{name: [pattern]})


def test_an_unknown_scope():
    """A scope that there is not names those that there are."""
    with pytest.raises(OptionError, match=r"'domain'.*host, site, prefix, any"):
        Scope("domain")


def test_many_seeds_cost_no_more_than_few():
    """Neither a seed nor a link is compared with every other seed: ten times as many take ten times the calls."""

    def calls(seeds: int) -> int:
        links = [Link(f"http://a.example/{number}/x", "a.example") for number in range(seeds)]
        profile = Profile()
        with profile:
            scope = scope_of("prefix", *(f"http://a.example/{number}/" for number in range(seeds)))
            assert all(map(scope.admits, links))
        return sum(entry.callcount for entry in profile.getstats())

    assert calls(2_000) < 12 * calls(200)


@pytest.mark.parametrize("name", ["allow", "deny"])
def test_a_link_that_cannot_be_matched_in_time_is_out(name: str) -> None:
    """It may be one that is denied; others have their turn, and the pattern is named."""
    scope = Scope("any", **{name: ["(?:a|aa)+$|page"]})
    stopped: list[tuple[str, str]] = []
    scope.limit_matches(0.02, lambda pattern, url: stopped.append((pattern, url)))
    evil = f"http://x.test/{'a' * 100}!"
    assert not admits(scope, evil)
    assert stopped == [("(?:a|aa)+$|page", evil)]
    until(lambda: admits(scope, "http://x.test/page") is (name == "allow"), "time for another match")


def test_a_sheet_has_patterns_of_its_own():
    """A link passes the crawl's patterns and those of its host's sheet, and the rule that keeps it out is named."""
    scope = Scope("any", deny=["/x"])
    scope.lay(Sheets([Sheet(hosts=("a.example",), allow=("/in",), deny=("/no",))]))
    links = {path: Link(f"http://a.example{path}", "a.example") for path in ("/in", "/in/no", "/in/x", "/out")}
    assert [path for path, link in links.items() if scope.admits(link)] == ["/in"]
    assert scope.admits(Link("http://b.example/no", "b.example"))
    assert scope.why_not(links["/in/no"]) == "deny of the sheet of a.example matches it: /no"
    assert scope.why_not(links["/out"]) == "allow of the sheet of a.example does not match it: /in"
    assert scope.why_not(links["/in/x"]) == "deny matches it: /x"
