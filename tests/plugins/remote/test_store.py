"""A file in a store is whole or is not there, and what the store says is believed no further than it goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from s3_server import BUCKET, S3, SECRET, s3_server

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.plugins.remote.store import _MARK, Remote, RemoteError, _remote_options, _safe_name, claim, owner_of


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(params=["s3", "file"])
def remote(request: pytest.FixtureRequest, s3: S3, tmp_path: Path) -> Remote:
    """A store of each kind, for what holds for both."""
    name = tmp_path.name
    if request.param == "s3":
        return Remote(_remote_options(f"s3://{BUCKET}/{name}", s3.options))
    return Remote(_remote_options(f"file://{tmp_path}/store", {}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"a" * 1_000)
    return path


class TestBoth:
    def test_sent_once(self, remote: Remote, file: Path) -> None:
        """What is there already is not sent again; what is there and differs is."""
        assert remote.send(file, "warc/a").is_new
        assert not remote.send(file, "warc/a").is_new
        file.write_bytes(b"b" * 1_001)
        assert remote.send(file, "warc/a").is_new
        file.write_bytes(b"c" * 1_001)
        assert remote.send(file, "warc/a", changes=True).is_new
        assert remote.read("warc/a", 10_000) == b"c" * 1_001

    def test_an_empty_file(self, remote: Remote, file: Path) -> None:
        """It is a file like any other."""
        file.write_bytes(b"")
        assert remote.send(file, "a").is_new
        assert not remote.send(file, "a").is_new
        assert remote.read("a", 10) == b""

    def test_what_is_not_there(self, remote: Remote) -> None:
        """None, and no error."""
        assert remote.read("warc/none", 10) is None

    def test_a_file_that_cannot_be_read_here(self, remote: Remote, tmp_path: Path) -> None:
        """It is the file's fault, and not the store's."""
        with pytest.raises(StorageError):
            remote.send(tmp_path / "none", "a")

    def test_two_that_come_at_once(self, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who claims a place looks whether another has done so meanwhile."""
        write = Remote.write

        def both(self: Remote, name: str, data: bytes) -> None:
            write(self, name, data.replace(b"first", b"other"))
            write(self, name, data)

        monkeypatch.setattr(Remote, "write", both)
        with pytest.raises(OptionError, match="another crawl"):
            claim(remote, "first")

    def test_a_place_is_one_crawls(self, remote: Remote) -> None:
        """Another is refused, and writes nothing."""
        mine, other = owner_of(b"k" * 16), owner_of(b"k" * 16, "worker")
        claim(remote, mine)
        claim(remote, mine)
        before = remote.read(_MARK, 1_000)
        with pytest.raises(OptionError, match="another crawl"):
            claim(remote, other)
        assert remote.read(_MARK, 1_000) == before


class TestS3:
    def test_cut_off_in_the_middle(self, s3: S3, file: Path) -> None:
        """Nothing appears of an upload that does not come to its end; s3fs tries it again by itself."""
        s3.faults(cut=1)
        remote = Remote(_remote_options(f"s3://{BUCKET}/cut", s3.options))
        remote.send(file, "a")
        assert s3.objects()["cut/a"] == file.read_bytes()
        assert s3.written()["cut/a"] == 1

    def test_refused(self, s3: S3, file: Path) -> None:
        """One line says that it is the credentials, and has none of them."""
        remote = Remote(_remote_options(f"s3://{BUCKET}/refused", s3.options))
        s3.faults(status=403)
        try:
            with pytest.raises(RemoteError, match="credentials") as caught:
                remote.send(file, "a")
        finally:
            s3.faults(status=0)
        assert caught.value.is_refusal
        assert SECRET not in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_no_bucket(self, s3: S3, file: Path) -> None:
        """No other attempt is worth while."""
        with pytest.raises(RemoteError, match="bucket") as caught:
            Remote(_remote_options("s3://no-such-bucket/a", s3.options)).send(file, "a")
        assert caught.value.is_refusal

    def test_nobody_there(self, s3: S3, file: Path) -> None:
        """That may change."""
        options = {**s3.options, "endpoint_url": "http://127.0.0.1:1"}
        with pytest.raises(RemoteError, match="cannot be reached") as caught:
            Remote(_remote_options(f"s3://{BUCKET}/a", options)).send(file, "a")
        assert not caught.value.is_refusal


class TestFiles:
    def test_a_file_takes_the_place_of_another_at_once(self, file: Path, tmp_path: Path) -> None:
        """Nothing is left beside it, and what a kill has left is written over."""
        store = tmp_path / "store" / "warc"
        store.mkdir(parents=True)
        (store / "a.new").write_bytes(b"half of")
        Remote(_remote_options(f"file://{tmp_path}/store", {})).send(file, "warc/a")
        assert [path.name for path in store.iterdir()] == ["a"]

    def test_a_disk_that_says_no(self, file: Path, tmp_path: Path) -> None:
        """One line, as for a store that says no."""
        (tmp_path / "store").write_text("in the way")
        with pytest.raises(RemoteError, match="store/a"):
            Remote(_remote_options(f"file://{tmp_path}/store", {})).send(file, "a")


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
