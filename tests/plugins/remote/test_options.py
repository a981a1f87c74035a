"""What is said of a store's URL and options before the store is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.remote.store import _remote_options, _safe_name


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://crawls", "schemes"),
        ("crawls", "schemes"),
        ("https://store.example/crawls", "schemes"),
        ("s3://", "no place"),
        ("file://crawls", "file:///"),
        ("s3://bucket/a?versionId=1", "a \\?"),
        ("simplecache::s3://bucket/a", "schemes"),
        ("s3://bucket/a::b", "a ::"),
    ],
)
def test_a_url_of_no_use(url: str, said: str) -> None:
    """One line says what is wrong with it."""
    with pytest.raises(OptionError, match=said):
        _remote_options(url, {})


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:hush@bucket",
        "s3://key:hush@bucket/a?b",
        "s3://key:hu/hush@bucket/a",
        "s3://key/with:hush@bucket",
    ],
)
def test_a_password_in_a_url_is_refused(url: str) -> None:
    """And not said again."""
    with pytest.raises(OptionError, match="password") as caught:
        _remote_options(url, {})
    assert "hush" not in str(caught.value)


def test_a_secret_comes_from_a_file(tmp_path: Path) -> None:
    """Also one that is further down; nothing shows it."""
    (tmp_path / "secret").write_text("hush\n")
    options = _remote_options("s3://bucket/a/", {"key": "k", "client_kwargs": {"x": f"@{tmp_path / 'secret'}"}})
    assert options.url == "s3://bucket/a"
    assert options.storage == {"key": "k", "client_kwargs": {"x": "hush"}}
    assert "hush" not in repr(options)


@pytest.mark.parametrize("name", ["secret", "password", "token", "account_key", "aws_session_token"])
def test_a_secret_on_the_command_line_is_refused(name: str) -> None:
    """Everybody on the machine can read that; the message does not have it."""
    with pytest.raises(OptionError, match="@FILE") as caught:
        _remote_options("s3://bucket", {"client_kwargs": {name: "hush"}})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://key:hush@store.example:9000", "https://:hu/hush@store.example"])
def test_a_password_in_another_url_is_refused(url: str) -> None:
    """Errors of a store have the address at which it was asked."""
    with pytest.raises(OptionError, match="endpoint_url has a password") as caught:
        _remote_options("s3://bucket", {"client_kwargs": {"endpoint_url": url}})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_file_without_a_secret(content: bytes | None, tmp_path: Path) -> None:
    """Missing, empty, or no text: one line says which file."""
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(OptionError, match=str(tmp_path / "secret")):
        _remote_options("s3://bucket", {"secret": f"@{tmp_path / 'secret'}"})


@pytest.mark.parametrize(("name", "safe"), [("a b?c", "a-b-c"), ("..", "crawl"), ("généric-1", "g-n-ric-1")])
def test_a_directory_s_name_is_part_of_a_url(name: str, safe: str) -> None:
    """Whatever it is."""
    assert _safe_name(name) == safe
