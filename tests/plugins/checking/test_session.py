"""The file of a crawl's cookies, checked and mended."""

from __future__ import annotations

from pathlib import Path

from sitecrawl.http.cookies import IN_CRAWL, CookieStore, read_cookies
from sitecrawl.plugins.checking.session import check_session, mend_session


def kept(directory: Path) -> Path:
    """A crawl's cookies on disk."""
    path = directory / IN_CRAWL
    path.parent.mkdir(mode=0o700)
    store = CookieStore()
    store.heard("http://a.example/", [(b"Set-Cookie", b"sid=secret")])
    store.write(path)
    return path


def test_nothing_is_wrong(tmp_path: Path) -> None:
    """A crawl without cookies, or with some of its own, has no problem."""
    assert not [*check_session(tmp_path)]
    kept(tmp_path)
    assert not [*check_session(tmp_path)]


def test_others_can_read_it(tmp_path: Path) -> None:
    """A file that others can read is told of, and left to its owner."""
    path = kept(tmp_path)
    path.chmod(0o644)
    (problem,) = check_session(tmp_path)
    assert "others can read it" in problem.what
    mend_session(tmp_path)
    assert not [*check_session(tmp_path)]
    assert [one.value for one in read_cookies(path)] == ["secret"]


def test_a_torn_file(tmp_path: Path) -> None:
    """What is no cookies.txt any more is told of, without what is in it, and removed."""
    path = kept(tmp_path)
    path.write_bytes(path.read_bytes()[5:])
    (problem,) = check_session(tmp_path)
    assert "secret" not in str(problem)
    mend_session(tmp_path)
    assert not path.exists()
