"""A page as Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sitecrawl.plugins.export.markdown import blocks_of, joined

READER = MarkdownIt("commonmark").enable("table")
TAGS = (
    "a href='javascript:x'", "a href=/b", "b", "i", "code", "p", "br", "ul", "ol", "li", "blockquote", "table", "tr",
    "td", "th", "pre", "h2", "div", "div hidden", "hr", "script",
)  # fmt: skip


def markdown(html: str) -> str:
    return joined(blocks_of(html, "http://site.example/folder/"))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>One <i>two</i></h1><p>three<div>four", "# One two\n\nthree\n\nfour"),
        ("<p>a <b>bold </b>word, <em>so</em>", "a **bold** word, *so*"),
        ("<p><a href=b?x=(1)>to <code>b</code></a>", "[to `b`](http://site.example/folder/b?x=%281%29)"),
        ("<code>List&lt;<a href=/k>K</a>&gt;</code>", "`List<`[`K`](http://site.example/k)`>`"),
        ("<code>a`b</code> <kbd>`</kbd>", "``a`b`` `` ` ``"),
        ("<a href=javascript:f()>x</a> <a href=#y>y</a> <a href=mailto:z@a.example>z</a>", "x y z"),
        ("<h2>T<a class=headerlink href=#t>¶</a></h2>", "## T"),
        ("<ul><li>a<ol><li>b<li>c</ol><li><p>d<p>e</ul>f", "- a\n  1. b\n  2. c\n- d\n\n  e\n\nf"),
        ("<li>without a list", "- without a list"),
        ("<blockquote><p>a<ul><li>b</ul></blockquote>c", "> a\n\n> - b\n\nc"),
        ("one<br>two<br><br>three", "one\ntwo\n\nthree"),
        ("<pre class='x lang-c++'>\nif (a &lt; b)\n\n  c;\n</pre>", "```c++\nif (a < b)\n\n  c;\n```"),
        ("<div class=highlight-sh><pre><i>x</i></pre></div><pre>y</pre>", "```sh\nx\n```\n\n```\ny\n```"),
        ("<pre>```\nx</pre>", "````\n```\nx\n````"),
        ("<table><tr><th>a<th>b<tr><td>1|2<td><p>x<p>y</table>", "| a | b |\n| --- | --- |\n| 1\\|2 | x<br>y |"),
        ("<table><tr><th>a<th>b<tr><td>1</table>", "| a | b |\n| --- | --- |\n| 1 | |"),
        ("<table><tr><td><h2>a</h2>b<td><ul><li>c</ul></table>d", "## a\n\nb\n\n- c\n\nd"),
        ("<li>a<table><tr><td>1<td>2<tr><td>3<td>4</table>", "- a\n\n  | 1 | 2 |\n  | --- | --- |\n  | 3 | 4 |"),
        ("<table><tr><td>int f<td>(<td><b>x</b><td>)</table>", "int f ( **x** )"),
        ("a<script>x</script><style>y</style><p hidden>z<p>b<title>t</title>", "a\n\nb"),
        ("<div hidden>never ends <p>text", "never ends\n\ntext"),
        ("<p># a<p>1. b<p>- c<p>+ d<p>&gt; e", "\\# a\n\n1\\. b\n\n\\- c\n\n\\+ d\n\n\\> e"),
        ("<p>--- <p>#f", "\\---\n\n#f"),
        ("*a* _b_ c_d `e` [f](g) &lt;b&gt; &amp;lt; h]", "\\*a\\* \\_b\\_ c_d \\`e\\` [f\\](g) \\<b> \\&lt; h\\]"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_page(html: str, expected: str) -> None:
    """Each element as people write it, and what would be Markdown by chance escaped."""
    assert markdown(html) == expected


@given(
    st.lists(
        st.one_of(
            st.sampled_from([f"<{tag}>" for tag in TAGS]),
            st.sampled_from([f"</{tag.partition(' ')[0]}>" for tag in TAGS]),
            st.text("ab *_`[]()<>&;#-+.1|\\!\n~=\u2028", max_size=8),
            st.sampled_from(
                ["&lt;script&gt;", "](javascript:x)", "[x]: javascript:y", "<!--", "&lt;http:x&gt;", "---\n"]
            ),
        ),
        max_size=20,
    )
)
def test_no_text_breaks_out(parts: list[str]) -> None:
    """A reader of a page's Markdown sees no HTML but line ends in cells, and no link but to the web."""
    stack = list(READER.parse(markdown("".join(parts))))
    while stack:
        token = stack.pop()
        stack += token.children or ()
        assert token.type != "html_block", token.content
        assert token.type != "html_inline" or token.content == "<br>"
        assert not token.type.startswith("image")
        assert str(token.attrs.get("href", "http://")).startswith("http://"), token.attrs


@pytest.mark.parametrize(
    "html",
    [
        "<ul><li>" * 20_000 + "x",
        "<blockquote>" * 20_000 + "x<br>" * 20_000,
        "<table><tr><td>" * 20_000 + "x",
        "<table><tr>" + "<td>x" * 20_000 + "<tr><td>y" * 20_000,
        "<b><i>" * 20_000 + "x" + "</i></b>" * 20_000,
        "<a href=/>" * 20_000 + "x",
        "<pre>" * 20_000 + "`" * 20_000,
        "<div hidden>" * 20_000 + "x",
        "</table></ul></blockquote></pre></b></a>" * 5_000,
    ],
    ids=lambda html: html[:24],
)
def test_what_is_deep_or_long_costs_no_more(html: str) -> None:
    """The Markdown is not much longer than the page, whatever is within what."""
    assert len(markdown(html)) <= 12 * len(html)


def test_what_is_escaped() -> None:
    """Each sign that would be markup by chance, in runs as well, and none that cannot be."""
    shown = "a_b __init__ _ a__b *** \\` &lt;b a&lt; 1 &amp;amp; [x](y)"
    wanted = r"a_b \_\_init\_\_ \_ a\_\_b \*\*\* \\\` \<b a< 1 \&amp; [x\](y)"
    assert joined(blocks_of(f"<p>{shown}</p>", "http://a.example/")) == wanted
