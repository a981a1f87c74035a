"""Rules: what a file may say, and what they make of a page."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError
from sitecrawl.base.patterns import MatchTime
from sitecrawl.plugins.export.jsonld import LinkedData
from sitecrawl.plugins.export.sources import PageText
from sitecrawl.plugins.extract.extraction import Extraction
from sitecrawl.plugins.extract.rule_files import read_rules

PAGE = """<html><head><base href="http://a.example/shop/"><script type="application/ld+json">
{"@context": "https://schema.org", "@graph": [
  {"@type": ["Thing", "https://schema.org/Product"], "name": "Bike", "offers": {"@id": "#offer"},
   "image": ["/1.png", "/2.png"], "inStock": true},
  {"@id": "#offer", "@type": "Offer", "price": 12.5, "seller": {"@type": "Person", "name": "Ann"}}]}
</script><script type="application/ld+json">{broken</script></head><body>
<h1> A <b>red</b>
 bike</h1><p class="price">Now 1.234,50 EUR</p><time>03.02.2024</time><a class="next" href="p2">more</a>
<div class="v"><span>S</span><i>10</i></div><div class="v"><span>M</span><i>none</i></div>
</body></html>"""


def rules(tmp_path: Path, fields: str, more: str = "", head: str = "") -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(f"{head}rules:\n  - name: thing\n{more}    fields:\n      {fields}\n", encoding="utf-8")
    return path


def items(path: Path, page: str = PAGE, content_type: str = "text/html") -> list[dict[str, Any]]:
    extraction = Extraction(read_rules(path), PageText("http://a.example/", page, content_type))
    return [outcome.item for outcome in extraction.outcomes() if outcome.item is not None]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("h1", "A red bike"),
        ("{css: h1, type: html}", "<h1> A <b>red</b>\n bike</h1>"),
        ("{css: 'h1 b::text'}", "red"),
        ("{xpath: '//h1/b/text()'}", "red"),
        ("{xpath: 'count(//div)', type: integer}", 2),
        ("{css: .price, regex: '[\\d.,]+', type: number, decimal: ','}", 1234.5),
        ("{css: .price, regex: 'Now (\\S+)'}", "1.234,50"),
        ("{regex: '<time>([^<]*)'}", "03.02.2024"),
        ("{css: time, type: date, format: '%d.%m.%Y'}", "2024-02-03"),
        ("{css: time, type: date}", None),
        ("{css: 'a.next::attr(href)', type: url}", "http://a.example/shop/p2"),
        ("{css: '.v span', many: true}", ["S", "M"]),
        ("{css: '.v i', many: true, type: integer}", [10]),
        ("{css: .nothing, many: true}", []),
        ("{css: .nothing, default: '7', type: integer}", 7),
        ("{any: [{css: .nothing}, {css: time, regex: 'x'}, {jsonld: Product.name}]}", "Bike"),
        ("{jsonld: Product.offers.price, type: number}", 12.5),
        ("{jsonld: Product.offers.seller.name}", "Ann"),
        ("{jsonld: Person.name}", "Ann"),
        ("{jsonld: Product.image, type: url, many: true}", ["http://a.example/1.png", "http://a.example/2.png"]),
        ("{jsonld: Product.inStock, type: boolean}", True),
        ("{jsonld: Offer.seller, type: json}", {"@type": "Person", "name": "Ann"}),
        ("{jsonld: Offer.seller}", None),
    ],
)
def test_a_field(tmp_path: Path, field: str, value: object) -> None:
    """Every source, every type, and what stands in for what is missing."""
    (item,) = items(rules(tmp_path, f"x: {field}"))
    assert item == {"rule": "thing", "url": "http://a.example/", "x": value}


@pytest.mark.parametrize(
    ("kind", "found", "value"),
    [
        ("number", "1 234.5", 1234.5),
        ("number", "\u22121,000", -1000.0),
        ("number", "1e3", 1000.0),
        ("number", "1" * 200, None),
        ("number", "12 EUR", None),
        ("integer", "12345678901234567890", 12345678901234567890),
        ("integer", "1.5", None),
        ("boolean", "https://schema.org/InStock", True),
        ("boolean", "perhaps", None),
        ("datetime", "2024-02-03T04:05:06Z", "2024-02-03T04:05:06+00:00"),
        ("date", "2024-13-01", None),
        ("url", "javascript:void(0)", None),
        ("url", "//b.example/x y", "http://b.example/x%20y"),
    ],
)
def test_a_type(tmp_path: Path, kind: str, found: str, value: object) -> None:
    """What fits gets its type, and what does not is no value."""
    (item,) = items(rules(tmp_path, f"x: {{css: p, type: {kind}}}"), f"<p>{found}</p>")
    assert item["x"] == value


def test_an_item_for_each(tmp_path: Path) -> None:
    """Selectors begin at the element; what is required drops the item, and says so."""
    path = rules(
        tmp_path, "size: span\n      price: {css: i, type: integer, required: true}", "    each: {css: .v}\n"
    )
    assert [(item["size"], item["price"]) for item in items(path)] == [("S", 10)]
    outcomes = list(Extraction(read_rules(path), PageText("http://a.example/", PAGE)).outcomes())
    assert [outcome.missing for outcome in outcomes] == [[], ["price"]]
    assert outcomes[1].readings[1].problems == ["'none' is no number"]


def test_an_item_for_each_object(tmp_path: Path) -> None:
    """A path that begins with a dot begins at the object."""
    path = rules(tmp_path, "a: {jsonld: .price, type: number}\n      b: h1", "    each: {jsonld: Offer}\n")
    assert [(item["a"], item["b"]) for item in items(path)] == [(12.5, "A red bike")]


ANSWER = json.dumps({
    "meta": {"total": 2, "next": "/api?page=2"},
    "items": [
        {"name": "Bike", "price": 12.5, "tags": ["red", "new"]}, {"name": "Bell", "price": "3 EUR", "tags": []},
    ],
})  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("{json: meta.total, type: integer}", 2),
        ("{json: meta.next, type: url}", "http://a.example/api?page=2"),
        ("{json: 'items[].name', many: true}", ["Bike", "Bell"]),
        ("{json: \"items[?name == 'Bike'].price\", type: number}", 12.5),
        ("{json: 'items[?price > `5`].name'}", None),
        ("{json: 'items[1].price', regex: '\\d+', type: integer}", 3),
        ("{json: meta, type: json}", {"total": 2, "next": "/api?page=2"}),
        ("{json: 'length(meta.total)', default: none}", "none"),
        ("{json: nothing.there}", None),
    ],
)
def test_a_path_into_json(tmp_path: Path, field: str, value: object) -> None:
    """JMESPath in an answer of an API; what cannot be asked is missing."""
    (item,) = items(rules(tmp_path, f"x: {field}"), ANSWER, "application/json")
    assert item["x"] == value


def test_an_item_for_each_object_of_json(tmp_path: Path) -> None:
    """Paths of fields begin at the object; an HTML page has none."""
    path = rules(tmp_path, "a: {json: name}\n      b: {json: 'tags[]', many: true}", "    each: {json: 'items[]'}\n")
    found = items(path, ANSWER, "application/json")
    assert [(item["a"], item["b"]) for item in found] == [("Bike", ["red", "new"]), ("Bell", [])]
    assert items(path) == []


def test_a_rule_for_some_pages(tmp_path: Path) -> None:
    """One whose `url` does not match takes nothing."""
    assert items(rules(tmp_path, "x: h1", "    url: '/p/'\n")) == []


def test_xml_and_text(tmp_path: Path) -> None:
    """XML is read as XML, without its entities; of plain text there is what regular expressions find."""
    bomb = '<!DOCTYPE a [<!ENTITY b "boom">\n]><a><b>one</b>&b;</a>'
    assert items(rules(tmp_path, "x: {xpath: 'string(/a)'}"), bomb, "text/xml")[0]["x"] == "one"
    path = rules(tmp_path, "x: h1\n      y: {regex: 'h\\d'}\n      z: {jsonld: A.b}")
    assert items(path, "<h1>no</h1>", "text/plain") == [
        {"rule": "thing", "url": "http://a.example/", "x": None, "y": "h1", "z": None}
    ]


def test_a_pattern_that_backtracks_is_stopped(tmp_path: Path) -> None:
    """It has found nothing, is counted, and leaves the others of the page no more time than the page has."""
    path = rules(tmp_path, "x: {regex: '(?:a|aa)+$'}\n      y: {regex: '(?:a|aa)+$'}\n      z: h1")
    page = PageText("http://a.example/", "<h1>ok</h1>" + "a" * 100 + "b", match_time=MatchTime(0.05))
    (outcome,) = Extraction(read_rules(path), page).outcomes()
    assert outcome.item is not None
    assert page.match_time.stopped == 2
    assert (outcome.item["x"], outcome.item["y"], outcome.item["z"]) == (None, None, "ok")


def test_where_rules_lead(tmp_path: Path) -> None:
    """The next page, and what `follow` names; each once, absolute."""
    head = "follow:\n  - {css: 'a::attr(href)'}\n  - {jsonld: Product.image}\n"
    path = rules(tmp_path, "x: h1", "    next: {css: 'a.next::attr(href)'}\n", head)
    found = read_rules(path)
    assert not found.follows_all
    links = Extraction(found, PageText("http://a.example/", PAGE)).links()
    assert [url.href for url in links] == [
        "http://a.example/shop/p2",
        "http://a.example/1.png",
        "http://a.example/2.png",
    ]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("x: {css: 'h1:::x'}", "5: 'h1:::x' is no CSS selector"),
        ("x: {xpath: '//['}", "5: '//\\[' is no XPath"),
        ("x: {xpath: '//a[re:test(., \"x\")]'}", "5: .* regular expressions have a key of their own"),
        ("x: {xpath: '//a[matches(., \"x\")]'}", "5: .* calls matches\\(\\), which is no function"),
        ("x: {regex: '('}", "5: '\\(' is no regular expression"),
        ("x: {regex: '(a)(b)'}", "5: .* has 2 groups"),
        ("x: {css: a, xpath: b}", "5: css and xpath exclude each other"),
        ("x: {css: a, any: [b]}", "5: css and any exclude each other"),
        ("x: {css: a, reqired: true}", "5: there is no 'reqired' here: is required meant?"),
        ("x: {css: a, type: numbr}", "5: there is no type 'numbr'"),
        ("x: {css: a, many: perhaps}", "5: here belongs true or false"),
        ("x: {css: a, format: '%Y'}", "5: format belongs to"),
        ("x: {css: a, type: date, format: 'Y'}", "5: 'Y' is no format of dates"),
        ("x: {css: a, decimal: ','}", "5: decimal is"),
        ("x: {css: a, type: integer, default: one}", "5: 'one' is no number"),
        ("x: {css: a, default: b, required: true}", "5: a field with a default is never missing"),
        ("x: {jsonld: 'a b'}", "5: 'a b' names no JSON-LD"),
        ("x: {json: 'a['}", r"5: 'a\[' is no JMESPath"),
        ("x: {jsonld: .price}", "5: '.price' needs an object at hand"),
        ("x: {jsonld: Product}", "5: 'Product' names an object"),
        ("x: {}", "5: nothing says where to look"),
        ("x: [a]", "5: here belongs a mapping"),
        ("x y: a", "5: 'x y' is no name of a field"),
        ("rule: a", "5: every item has a field `rule`"),
        ("x: a\n      x: b", "6: 'x' stands here twice"),
        ("x: [", "6: .*"),
        ("x: \x01", "5: a character that YAML does not allow"),
    ],
)
def test_an_error_names_its_line(tmp_path: Path, field: str, words: str) -> None:
    """File and line, and what to write instead."""
    path = rules(tmp_path, field, "    url: x\n")
    with pytest.raises(OptionError, match=f"{re.escape(str(path))}:{words}"):
        read_rules(path)


def test_all_errors_are_told(tmp_path: Path) -> None:
    """One run tells of all of them, in the order of their lines."""
    path = rules(
        tmp_path, "x: {css: '['}\n      y: {type: z, css: a}", "    name: again\n    url: '('\n", "folow: all\n"
    )
    with pytest.raises(OptionError) as caught:
        read_rules(path)
    lines = [int(line.split(":")[1]) for line in str(caught.value).splitlines()]
    assert lines == [1, 4, 5, 7, 8]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there is nothing in this file"),
        (b"rules: []", ":1: there is no rule"),
        (b"follow: some\nrules: []", ":1: follow is"),
        (b"a: 1", ":1: there is no 'a' here"),
        (b"- a", ":1: here belongs a mapping"),
        (b"rules:\n - \xff", ":2: this is no UTF-8"),
        (b"a: &a [*a]", ":1: "),
        (b"[" * 5000, ":1: "),
        (b" " * (2 << 20), "more than"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: bytes, words: str) -> None:
    """Whatever is in the file, it is one clear error."""
    path = tmp_path / "rules.yaml"
    path.write_bytes(content)
    with pytest.raises(OptionError, match=words):
        read_rules(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda a: st.lists(a) | st.dictionaries(st.sampled_from(["@id", "@type", "a"]), a),
    )
)
def test_linked_data_of_any_shape(value: object) -> None:
    """Nothing in a page's JSON raises."""
    data = LinkedData(
        [json.dumps(value), "[" * 100_000, "<!-- " + json.dumps({"@type": "T", "a": {"@value": 1}}) + " -->"]
    )
    assert data.broken == 1
    assert 1 in data.values(data.of_type("T"), ["a"])


@pytest.mark.parametrize(
    ("json_text", "kind", "value"),
    [
        ("9" * 400, "number", None),
        ("9" * 400, "integer", None),
        ("1e999", "number", None),
        ('"1e999"', "number", None),
        ("Infinity", "json", None),
        ("NaN", "json", None),
        (r'"a\ud800"', "text", "a?"),
        (r'"\ud83d\ude00"', "text", "\N{GRINNING FACE}"),
    ],
)
def test_what_no_feed_could_write(tmp_path: Path, json_text: str, kind: str, value: object) -> None:
    """Numbers without end and half characters, which Python's JSON lets pass, are no values."""
    page = f'<script type="application/ld+json">{{"@type": "T", "a": {json_text}}}</script>'
    (item,) = items(rules(tmp_path, f"x: {{jsonld: T.a, type: {kind}}}"), page)
    assert item["x"] == value
    json.dumps(item, allow_nan=False, ensure_ascii=False).encode()


def test_objects_that_multiply(tmp_path: Path) -> None:
    """What names one another a thousand times makes no thousand million values."""
    steps = [{"@id": str(n), "a": [{"@id": str(n + 1)}] * 1000} for n in range(4)]
    page = f'<script type="application/ld+json">{json.dumps([{"@type": "T", **steps[0]}, *steps[1:]])}</script>'
    (item,) = items(rules(tmp_path, "x: {jsonld: T.a.a.a.a, type: json, many: true}"), page)
    assert len(item["x"]) == 10_000


def test_elements_within_one_another(tmp_path: Path) -> None:
    """Their text is the page's as often as they are deep: only so much of it is taken."""
    text = "x" * 200_000
    (item,) = items(rules(tmp_path, "x: {css: div, many: true}"), "<div>" * 200 + text)
    assert len(item["x"]) < 100


def test_a_url_that_a_pattern_runs_wild_on(tmp_path: Path) -> None:
    """It is stopped, and the rule is for other pages."""
    extraction = Extraction(
        read_rules(rules(tmp_path, "x: b", "    url: '(?:a|aa)+$'\n")),
        PageText(f"http://a.example/{'a' * 50}!", "<b>1"),
    )
    assert list(extraction.outcomes()) == []
    assert extraction.page.match_time.stopped == 1


def test_no_match_is_begun_when_the_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a thousand texts cost no more than one: whoever looks at the clock finds it a second on, and one looks."""
    seconds = itertools.count()
    monkeypatch.setattr("sitecrawl.base.patterns.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    path = rules(tmp_path, "x: {css: i, regex: '(?:a|aa)+$'}")
    page = PageText("http://a.example/", f"<i>{'a' * 50}!</i>" * 2000, match_time=MatchTime(0.05))
    assert [outcome.item["x"] for outcome in Extraction(read_rules(path), page).outcomes() if outcome.item] == [None]
    assert page.match_time.stopped == 2000
    assert page.match_time.left == pytest.approx(0.05 - 1)


def test_no_item_is_begun_when_the_time_is_up(tmp_path: Path) -> None:
    """A selector that looks at the whole page for every place has an end."""
    path = rules(tmp_path, "x: i", "    each: i\n")
    extraction = Extraction(read_rules(path), PageText("http://a.example/", "<i>1</i>" * 10), seconds=-1.0)
    assert list(extraction.outcomes()) == []
    assert extraction.is_cut


def test_what_was_found_before_the_time_was_up_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock finds it a second on: five places are begun within five seconds, and no sixth."""
    seconds = itertools.count()
    monkeypatch.setattr("sitecrawl.plugins.extract.extraction.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    page = PageText("http://a.example/", "<i>1</i>" * 600)
    extraction = Extraction(read_rules(rules(tmp_path, "x: i", "    each: i\n")), page, seconds=5)
    assert len(list(extraction.outcomes())) == 5
    assert extraction.is_cut


def test_aliases_that_multiply(tmp_path: Path) -> None:
    """A file of some kilobytes is no file of a million rules."""
    path = tmp_path / "rules.yaml"
    fields = ", ".join(f"f{n}: {'*f' if n else '&f {any: [&s {css: b}' + ', *s' * 500 + ']}'}" for n in range(500))
    path.write_text(f"rules:\n  - {{name: a, fields: {{{fields}}}}}\n")
    with pytest.raises(OptionError, match="too much in this file"):
        read_rules(path)


@pytest.mark.parametrize("end", ["", "]", "]x", "]x>"])
def test_a_declaration_without_end(end: str) -> None:
    """Looking for the end of each anew would not end today."""
    page = PageText("http://a.example/", "<a>b</a>" + "<!DOCTYPE[" * 800_000 + end, "text/xml")
    assert page.root.text == "b"


def test_a_tag_with_too_many_attributes() -> None:
    """A tree of all of them would take an hour; the first have their values."""
    html = "<p" + "".join(f" a{number}={number}" for number in range(500_000)) + ">x"
    (found,) = PageText("http://a.example/", html).root.iter("p")
    assert (found.get("a999"), found.get("a1000"), found.text) == ("999", None, "x")
