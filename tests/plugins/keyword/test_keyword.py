"""Finding a keyword as a reader would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError
from sitecrawl.page.items import PageItem
from sitecrawl.plugins.keyword.keyword import _MAX_LENGTH, _SHOWN, Found, Keyword, _folded


def page(body: str, charset: str | None = "utf-8", content_type: str = "text/html") -> PageItem:
    data = body.encode(charset or "utf-8")
    return PageItem("http://a.example/", 200, 0.0, 1, charset=charset, content_type=content_type, body=data)


def find(keyword: str, where: PageItem) -> Found | None:
    return Keyword(keyword).find(where, where.text)


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("keyword", "a KEY<b>W</b>ord"),
        ("KEYWORD", "keyword"),
        ("key word", "key&nbsp;&nbsp;\n  <i>word"),
        (" key\tword ", "key word"),
        ("straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("file", "\ufb01le"),
        ("caf\u00e9", "cafe\u0301"),
        ("cafe\u0301", "caf&eacute;"),
        ("keyword", "key&shy;word"),
        ("keyword", "key\u200bword"),
        ("\u017foft", "SOFT"),
        ("ABC", "\uff41\uff42\uff43"),
        ("漢字", "<b>漢</b>字"),
        ("a<b", "a&lt;b"),
        ("👍🏽", "ok 👍🏽"),
    ],
)
def test_found(keyword: str, text: str) -> None:
    """Tags, entities, case, composition, ligatures and soft hyphens do not hide it."""
    found = find(keyword, page(f"<p>before</p>\n<p>{text}</p>"))
    assert found is not None
    assert found.line == 2
    assert found.depth == 2


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("keyword", "<script>keyword</script><style>keyword</style><!-- keyword --><a title=keyword></a>"),
        ("keyword", "key<br>word"),
        ("keyword", "<td>key</td><td>word</td>"),
        ("keyword", "key word"),
        ("key word", "<p>key</p><p>word</p>"),
        ("cafe", "café"),
        ("eacute", "&eacute;"),
    ],
)
def test_not_found(keyword: str, text: str) -> None:
    """What a reader does not see, or sees apart, is not there."""
    assert find(keyword, page(text)) is None


@pytest.mark.parametrize("charset", ["utf-8", "utf-16le", "windows-1251", "koi8-r", "iso-8859-5", "gb18030"])
def test_any_charset(charset: str) -> None:
    """The page's encoding does not matter."""
    word = "\u0441\u0430\u0439\u0442"  # "site" in Russian
    assert find(word.upper(), page(f"<p>{word[:2]}<b>{word[2:]}</b></p>", charset)) is not None


def test_text_and_no_text() -> None:
    """Plain text is text, with its tags; a picture is none."""
    found = find("<b>", page("one\ntwo <b>", content_type="text/plain"))
    assert found is not None
    assert (found.line, found.text) == (2, "two <b>")
    assert find("b", page("bbb", None, "image/png")) is None


def test_a_long_line_is_cut_around_the_keyword() -> None:
    """What is shown has the keyword in its midst, and dots where it was cut."""
    found = find("needle", page("word " * 5000 + "the need<b>le</b>, " + "word " * 5000))
    assert found is not None
    assert "the needle, word" in found.text
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert len(found.text) <= _SHOWN + 10


@pytest.mark.parametrize(("text", "words"), [("", "empty"), (" \u00ad\n", "empty"), ("x" * 101, "100 is the limit")])
def test_a_bad_keyword(text: str, words: str) -> None:
    """Nothing, and what is too long, is refused with the reason."""
    with pytest.raises(OptionError, match=words):
        Keyword(text)
    Keyword("é" * _MAX_LENGTH)


@given(st.text(), st.text(min_size=1), st.text())
def test_what_is_in_a_text_is_found(before: str, keyword: str, after: str) -> None:
    """In plain text on one line, whatever the letters; and the report has no line that is not there."""
    if "\n" in keyword or "\r" in keyword or not _folded(keyword):
        return
    whole = f"{before} {keyword} {after}"
    if _folded(keyword) not in _folded(whole):  # marks around it may have joined it
        return
    body = whole.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    found = find(keyword[:100], page(body, content_type="text/plain"))
    assert found is None or 1 <= found.line <= len(body.splitlines()) + 1


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    """So it does not matter which of the two texts was folded before."""
    assert _folded(_folded(text)) == _folded(text)


def test_marks_without_end() -> None:
    """Of combining marks in a row no more count than a text can have: each is put in order among all others."""
    assert _folded("a" + "\u0301" * 500_000 + "\u0323" * 500_000) == _folded("a" + "\u0301" * 30)
    assert len(_folded("a" + "\u0f73" * 500_000)) == 61  # each becomes two
    assert _folded("e\u0323\u0301" * 3) == _folded("\u1eb9\u0301" * 3)
