"""The addresses in style sheets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.page.requisites import _IMPORT, _MAX_LENGTH, _SHOWN, Part, parts_of_style


def addresses(css: str) -> list[str]:
    return [found.address for found in parts_of_style(css)]


@pytest.mark.parametrize(
    ("css", "found"),
    [
        ("a { background: url(x.png) }", ["x.png"]),
        ("a{b:url( 'x y.png' )}", ["x y.png"]),
        ('a{b:URL("x.png") , url(y.png)}', ["x.png", "y.png"]),
        ("@font-face{src:local('F'),url(f.woff2) format('woff2'),url(f.ttf)}", ["f.woff2", "f.ttf"]),
        ("a{b:image-set('1.png' 1x, url(2.png) 2x type('image/png'), \"3.png\" 3x)} c{content:'no'}", [
            "1.png", "2.png", "3.png"]),
        ("a{b:-webkit-image-set(url(1.png) 1x)}", ["1.png"]),
        ("a{b:src('x')}", ["x"]),
        (r"a{b:url(a\ b\29.png)}", ["a b).png"]),
        (r"a{b:url('a\27\
b')}", ["a'b"]),
        (r"a{b:url('\0\d800\110000')}", ["\ufffd\ufffd\ufffd"]),
        ("/* url(no) */ a{b:url(x)} /* url(no)", ["x"]),
        ("a{content:'url(no)'} b{c:url(x)}", ["x"]),
        ("a{content:'unended\n b:url(x)}", ["x"]),
        ("a{b:myurl(no);c:-url(no)}", []),
        ("a{b:url(no way);c:url(x)}", ["x"]),
        ("a{b:url(x", ["x"]),
        ("a{b:url('x", ["x"]),
        ("a{b:url();c:url('');d:url( )}", []),
        ("a{b:url(#clip);c:url('#clip')}", []),
        ("a{b:url(data:image/png;base64,AA==);c:url('DATA:,x')}", []),
        ("@namespace svg url(http://www.w3.org/2000/svg); a{b:url(x)}", ["x"]),
        ("@charset 'utf-8'; a{b:url(x)}", ["x"]),
    ],
)  # fmt: skip
def test_addresses(css: str, found: list[str]) -> None:
    """They are what CSS' own tokens name, wherever they stand, and nothing besides."""
    assert addresses(css) == found


def test_imports() -> None:
    """A sheet that is imported is told from what its rules show, whatever conditions it has."""
    css = "@import 'a.css'; @import url(b.css) layer(x) supports(a: b) screen; @IMPORT/**/\"c.css\"; d{e:url(f)}"
    assert list(parts_of_style(css)) == [
        Part(_IMPORT, "a.css"),
        Part(_IMPORT, "b.css"),
        Part(_IMPORT, "c.css"),
        Part(_SHOWN, "f"),
    ]


def test_a_style_attribute() -> None:
    """Declarations without a rule around them."""
    assert addresses("color: red; background: url(&quot;x)") == ["&quot;x"]


def test_a_long_sheet_is_read_in_part() -> None:
    """A hostile sheet has a cost that is known."""
    css = "a{b:url(first)}" + " " * _MAX_LENGTH + "a{b:url(last)}"
    assert addresses(css) == ["first"]


@given(
    st.lists(
        st.sampled_from(["url(", "'", '"', ")", "(", "\\", "\n", "/*", "*/", "@import ", ";", "}", "x", "image-set("])
    )
)
def test_garbage_raises_nothing(tokens: list[str]) -> None:
    """Whatever stands there, what is found is some of it."""
    css = "".join(tokens)
    assert all(len(address) <= len(css) for address in addresses(css))
