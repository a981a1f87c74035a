"""Text for terminals of any encoding."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper

from sitecrawl.base.display import forgive


def test_what_a_terminal_has_not_is_an_escape() -> None:
    """Under LANG=C a title is no reason for a traceback; a stream that is no file stays as it is."""
    terminal = TextIOWrapper(written := BytesIO(), encoding="ascii", errors="strict")
    forgive(terminal, other := StringIO())
    print("a石", file=terminal, flush=True)
    print("石", file=other)
    assert (written.getvalue(), other.getvalue()) == (b"a\\u77f3\n", "石\n")
