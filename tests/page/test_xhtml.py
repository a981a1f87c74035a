"""Pages in XML, read by its rules."""

from __future__ import annotations

import pytest

from sitecrawl.page.links import read_page
from sitecrawl.page.xhtml import as_html, is_page

XHTML = "application/xhtml+xml"
ROOT = '<html xmlns="http://www.w3.org/1999/xhtml">'


def targets(body: str, content_type: str = XHTML, encoding: str = "utf-8") -> list[str]:
    page = read_page("http://a.b/", body.encode(encoding), [(b"Content-Type", content_type.encode())])
    return [link.url.removeprefix("http://a.b") for link in page.links]


@pytest.mark.parametrize(
    "before",
    [
        '<script src="x"/>',
        "<title/>",
        "<script src=x/>",
        "<textarea/>",
        '<iframe name="x" />',
        "<xmp/>",
        "<h:title/>",
        "<STYLE/>",
    ],
)
def test_any_element_may_close_itself(before: str) -> None:
    """What is behind it is no content of it."""
    assert targets(f'{ROOT}<body>{before}<a href="/x">x</a></body></html>') == ["/x"]


@pytest.mark.parametrize(
    "hidden",
    [
        '<![CDATA[ > <a href="/no"> ]]>',
        '<?pi > <a href="/no"> ?>',
        '<!-- > --!> <a href="/no"> -->',
        '<script><![CDATA[</script><a href="/no">]]></script>',
        '<script><!-- </script><a href="/no"> --></script>',
    ],
)
def test_what_is_no_markup_in_xml_holds_no_links(hidden: str) -> None:
    """It ends where XML says, and not at the first `>`."""
    assert targets(f'{ROOT}<body>{hidden}<a href="/x"/></body></html>') == ["/x"]


@pytest.mark.parametrize("content_type", ["text/xml", "application/xml; charset=utf-8", "application/x+xml"])
@pytest.mark.parametrize(
    "body",
    [
        f'<?xml version="1.0"?><!-- a --><!DOCTYPE html [<!ENTITY a "b">]>\n{ROOT}<body><a href="/x"/></body></html>',
        '<?xml version="1.0"?><h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:title/><h:a href="/x"/></h:html>',
    ],
)
def test_xml_whose_root_is_a_page_is_one(content_type: str, body: str) -> None:
    """By whatever name of XML it comes, in whatever encoding, with whatever prefix."""
    assert targets(body, content_type) == targets(body, content_type, "utf-16") == ["/x"]


@pytest.mark.parametrize(
    "body", [b"<rss><a href='/x'/></rss>", b"<html><a href='/x'/></html>", b"<!-- <html -->", b""]
)
def test_other_xml_is_no_page(body: bytes) -> None:
    """A root without the namespace of XHTML means nothing to a browser."""
    assert not is_page(body)


def test_a_drawing_has_links() -> None:
    """A browser follows them, by either attribute."""
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><title/><a xlink:href="/x"/><a href="/y"/></svg>'
    assert targets(drawing, "image/svg+xml") == ["/x", "/y"]


@pytest.mark.parametrize(
    "other",
    [
        '<A href="/no"/>',
        '<a HREF="/no"/>',
        '<a title="T" Href="/no">x</a>',
        '<a xmlns="http://other.example/" href="/no"/>',
        '<p xmlns="http://other.example/"><a href="/no">x</a><base href="/no/"/></p>',
        '<p xmlns=""><p><a href="/no">x</a></p></p>',
        '<o:a xmlns:o="http://other.example/" href="/no"/>',
        '<svg xmlns="http://www.w3.org/2000/svg"><A href="/no"/></svg>',
    ],
)
def test_what_has_another_name_in_xml_is_no_link(other: str) -> None:
    """Names are of a namespace, and are told apart by case."""
    assert targets(f'{ROOT}<body>{other}<a href="/x"/></body></html>') == ["/x"]


@pytest.mark.parametrize(
    "link",
    [
        '<p xmlns="http://other.example/"><a xmlns="http://www.w3.org/1999/xhtml" href="/x"/></p>',
        '<p xmlns="http://other.example/"><h:a xmlns:h="http://www.w3.org/1999/xhtml" href="/x"/></p>',
        '<p xmlns="http://other.example/"><br/></p><a href="/x"/>',
        '<textarea><a href="/x">x</a></textarea>',
        '<textarea>x</textarea><a href="/x"/>',
        '<textarea><![CDATA[<a href="/no"/>]]></textarea><a href="/x"/>',
        '<xmp><a href="/x"/></xmp>',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="X Y"><linearGradient/><a CLASS="x" href="/x"/></svg>',
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"><a l:href="/x"/></svg>',
        '<a title="A /" href="/x"/>',
    ],
)
def test_links_in_xml(link: str) -> None:
    """What is of HTML's or SVG's namespace is a link wherever it stands."""
    assert targets(f"{ROOT}<body>{link}</body></html>") == ["/x"]


def test_names_without_a_prefix_need_a_namespace() -> None:
    """Where the root has a prefix, they have none."""
    body = '<h:html xmlns:h="http://www.w3.org/1999/xhtml"><a href="/no"/><h:a href="/x"/></h:html>'
    assert targets(body) == ["/x"]


def test_a_drawings_title_is_that_of_its_root() -> None:
    """As `document.title` has it."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><title>S</title><g><title>no</title></g><a href="/x"/></svg>'
    page = read_page("http://a.b/", svg.encode(), [(b"Content-Type", b"image/svg+xml")])
    assert (page.title, [link.url for link in page.links]) == ("S", ["http://a.b/x"])


def test_what_is_not_well_formed_is_read_on() -> None:
    """A browser would show an error in the place of all that follows."""
    assert targets(f'{ROOT}<p><a href="/x">& <b></p><script/><a href=/y>') == ["/x", "/y"]


def test_lines_stay_where_they_are() -> None:
    """Who names the line of a word names that of the source."""
    text = "<?a\nb?><!-- \n --><title\n/>\n<![CDATA[<\n]]>x"
    assert as_html(text, XHTML).count("\n") == text.count("\n")
    assert as_html(text, "text/html") is text


@pytest.mark.parametrize(
    "hostile",
    [
        "<a b=",
        "<?",
        "<!--",
        "<![CDATA[",
        "<a:",
        "<!DOCTYPE [",
        " xmlns:a",
        "<a /",
        "<title>",
        "<textarea>",
        "<p A=''>",
    ],
)
def test_hostile_xml_takes_one_pass(hostile: str) -> None:
    """What does not end extends to the end of the page, and is not looked at again from each place."""
    assert len(as_html(hostile * 20_000, XHTML)) <= 2 * len(hostile) * 20_000
    assert not is_page(hostile.encode() * 20_000)
