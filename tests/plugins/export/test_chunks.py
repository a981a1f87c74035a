"""Pages cut into parts for retrieval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.plugins.export.chunks import _Chunk, _chunks
from sitecrawl.plugins.export.markdown import blocks_of, joined


def parts(html: str, most: int = 20) -> list[_Chunk]:
    return list(_chunks(blocks_of(html, "http://site.example/"), most))


def words(number: int, word: str = "word") -> str:
    return " ".join([word] * number)


def test_each_has_the_headings_above_it() -> None:
    """Of all levels, without their markup; text before the first has none."""
    nine, twelve = f"<p>{words(9)}", f"<p>{words(12)}"
    found = parts(f"{nine}<h1>A <code>b</code></h1>{nine}<h2>C</h2>{twelve}{twelve}<h2>D</h2>{nine}")
    assert [(list(one.headings), one.text.partition("\n")[0]) for one in found] == [
        ([], words(9)),
        (["A b"], "# A `b`"),
        (["A b", "C"], "## C"),
        (["A b", "C"], words(12)),
        (["A b", "D"], "## D"),
    ]


def test_short_sections_stay_together() -> None:
    """They have the headings that stand above all of them; their own are in the text."""
    (found,) = parts("<h1>A</h1><h2>B</h2>b<h2>C</h2>c", 40)
    assert (list(found.headings), found.text) == (["A"], "# A\n\n## B\n\nb\n\n## C\n\nc")


@pytest.mark.parametrize(
    "text",
    [words(95), "日本語" * 100, "x" * 5_000, words(50, "ünïcödé") + "語" * 30],
    ids=["words", "Chinese", "x", "mixed"],
)
def test_a_long_block_is_cut(text: str) -> None:
    """None is longer than is asked for, and nothing is lost."""
    found = parts(f"<p>{text}")
    assert len(found) > 1
    assert all(len(one.text) <= 20 * 41 for one in found)
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())


def test_long_code_stays_code() -> None:
    """Each part of it has fences and its language."""
    found = parts(f"<pre class=lang-sh>{words(50, 'ls')}</pre>")
    assert len(found) == 3
    assert all(one.text.startswith("```sh\n") and one.text.endswith("\n```") for one in found)


@given(
    st.lists(
        st.sampled_from(
            ["<h1>", "<h2>a b</h2>", "<h3>", "<p>", "one ", "two three ", "<li>", "<pre>x y\nz</pre>", "語語語"]
        )
    ),
    st.integers(20, 60),
)
def test_nothing_is_lost(pieces: list[str], most: int) -> None:
    """All of a page is in its parts, once and in its order, and the sizes are what they say."""
    blocks = blocks_of("".join(pieces), "http://site.example/")
    found = list(_chunks(blocks, most))
    assert "".join("".join(one.text.split()) for one in found) == "".join(joined(blocks).split())
    assert all(0 < one.words <= most for one in found)


def test_a_row_of_backticks_costs_no_more() -> None:
    """What begins like a fence and is none is looked at once: it took the square of its length."""
    assert len(parts(f"<code>{'`' * 400_000}</code>")) > 1
