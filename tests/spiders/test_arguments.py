"""What a user may pass to a site spider with `-a`."""

from __future__ import annotations

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.page.items import Link
from sitecrawl.spiders.arguments import SiteArguments


def read(*, start_urls=(), **given) -> SiteArguments:
    return SiteArguments.read(given, list(start_urls))


def test_seeds_are_all_that_is_needed():
    """Whatever is not given is left to the settings, and the scope is the seeds' sites."""
    arguments = read(seeds="a.example")
    assert [url.href for url in arguments.seeds] == ["http://a.example/"]
    assert (arguments.max_pages, arguments.max_depth, arguments.order) == (None, None, None)
    assert arguments.scope.kind == "site"


def test_everything():
    """Every argument is read, from text as the command line has it."""
    given = {"scope": "any", "allow": "/a,b/", "deny": "print", "max_pages": "7", "max_depth": " 0", "order": "dfs"}
    arguments = read(seeds="a.example", **given)
    assert (arguments.max_pages, arguments.max_depth, arguments.order) == (7, 0, "dfs")
    urls = ["http://x.test/a,b/", "http://x.test/a,b/print", "http://x.test/a"]
    assert [arguments.scope.admits(Link(url, "x.test")) for url in urls] == [True, False, False]


def test_start_urls_stand_in_for_seeds():
    """The spider's own start URLs are used where no seeds are given, as they are, commas included."""
    urls = ["http://a.example/a,b", "http://b.example/"]
    assert [url.href for url in read(start_urls=urls).seeds] == urls
    assert [url.href for url in read(seeds="c.example", start_urls=urls).seeds] == ["http://c.example/"]


def test_urls_of_a_job_file_have_commas_of_their_own():
    """Sitemaps and hubs that are a list are the URLs that they say, and no parts of them."""
    arguments = read(seeds="a.example", sitemaps=["http://a.example/x,y.xml"], hubs=["http://a.example/1,2"])
    assert [url.href for url in arguments.named] == ["http://a.example/x,y.xml", "http://a.example/1,2"]
    assert not arguments.sitemaps


@pytest.mark.parametrize("given", [{}, {"seeds": ""}, {"seeds": " "}])
def test_no_seeds_at_all(given):
    """Without seeds there is nothing to crawl, and the error shows how to give some."""
    with pytest.raises(OptionError, match="-a seeds="):
        read(**given)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("seed", "seeds"), ("max_page", "max_pages"), ("maxdepth", "max_depth"), ("Order", "order"), ("denny", "deny")],
)
def test_a_misspelt_argument(name, nearest):
    """An argument that there is not names the nearest that there is."""
    with pytest.raises(OptionError, match=rf"'{name}': is {nearest} meant\?"):
        read(seeds="a.example", **{name: "1"})


def test_an_argument_like_no_other():
    """An argument that resembles none names them all."""
    with pytest.raises(
        OptionError,
        match="seeds, scope, max_pages, max_depth, order, sitemaps, watch, recrawl, again, requisites, "
        "render, screenshots, ftp, dry, job, allow, deny",
    ):
        read(seeds="a.example", xyzzy="1")


def test_scrapyd_passes_a_job():
    """Names that begin with an underscore are not ours."""
    assert read(seeds="a.example", _job="26d1").seeds


@pytest.mark.parametrize("name", ["max_pages", "max_depth"])
@pytest.mark.parametrize("value", ["-1", "", "many", "1.5", "0x10", [], "1e3"])
def test_a_number_that_is_none(name, value):
    """A limit is a whole number that is not negative."""
    with pytest.raises(OptionError, match=rf"{name} must be a whole number, 0 for no limit"):
        read(seeds="a.example", **{name: value})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scope": "sites"}, "There is no scope 'sites'"),
        ({"order": "worst"}, "There is no order 'worst'"),
        ({"allow": "("}, "allow: "),
        ({"deny": "["}, "deny: "),
        ({"seeds": "ftp://a.example"}, "switch it on with -a ftp=1"),
        ({"sitemaps": "ftp://a.example/s.xml", "ftp": "1"}, "its scheme is ftp:"),
        ({"ftp": "yes"}, "ftp is 1 or 0"),
        ({"render": "yes"}, "render is one of 0, 1, auto"),
    ],
)
def test_a_value_that_is_wrong(given, message):
    """A wrong value is named, whichever argument it is of."""
    with pytest.raises(OptionError, match=message):
        read(**{"seeds": "a.example", **given})


def test_sitemaps_and_hubs():
    """`sitemaps` is a switch, or names some and then no others are looked for, or is both."""
    one, two = "http://a.example/1.xml", "http://b.example/2"
    for text, discover, named in (("1", True, []), ("0", False, []), (one, False, [one]), (f"1,{one}", True, [one])):
        found = read(seeds="a.example", sitemaps=text)
        assert (found.sitemaps, [url.href for url in found.named]) == (discover, named)
    found = read(seeds="a.example", sitemaps=one, hubs=two)
    assert (found.sitemaps, [url.href for url in found.named]) == (False, [one, two])


def test_arguments_that_the_spider_takes_for_itself():
    """They are among those that a misspelt one may mean."""
    with pytest.raises(OptionError, match=r"'treshold': is threshold meant\?"):
        SiteArguments.read({"seeds": "a.example", "treshold": "1"}, [], ("topic", "threshold"))
