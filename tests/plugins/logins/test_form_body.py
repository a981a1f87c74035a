"""What a form's entries are on the wire, where a crawl of the form says nothing of it."""

from __future__ import annotations

from sitecrawl.plugins.logins.form_login import _form_body


def test_names_and_line_ends() -> None:
    """A name cannot end its header, and lines end as the standard says."""
    kind, body = _form_body([('a"b\r\nc', "one\ntwo\rthree\r\nfour")], "multipart/form-data", "utf-8")
    boundary = kind.partition("boundary=")[2]
    assert body.decode() == (
        f'--{boundary}\r\nContent-Disposition: form-data; name="a%22b%0D%0Ac"\r\n\r\n'
        f"one\r\ntwo\r\nthree\r\nfour\r\n--{boundary}--\r\n"
    )


def test_another_boundary_each_time() -> None:
    """A page that has read one form cannot know the next one's."""
    assert _form_body([], "multipart/form-data", "utf-8")[0] != _form_body([], "multipart/form-data", "utf-8")[0]


def test_in_one_line() -> None:
    """So it goes where the form says nothing, or something that there is not."""
    for enctype in ("", "application/json"):
        assert _form_body([("a", "x y"), ("b", "&")], enctype, "utf-8") == (
            "application/x-www-form-urlencoded",
            b"a=x+y&b=%26",
        )
