"""A crawl's directory: new, resumed, or someone else's."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from waiting import PATIENCE

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.crawldir import directory
from sitecrawl.crawldir.directory import MANIFEST, CrawlDirectory, read_manifest


def rewrite(path, **changes):
    """Change what `crawl.json` says."""
    file = path / MANIFEST
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_new_directory(tmp_path):
    """A directory that is missing is made, with all that is above it."""
    crawl = CrawlDirectory(tmp_path / "a" / "b", "generic")
    assert not crawl.resumed
    assert len(crawl.manifest.fingerprint_key) == 16
    assert crawl.database.parent == crawl.path == tmp_path / "a" / "b"


def test_every_crawl_has_its_own_key(tmp_path):
    """Two crawls do not share a fingerprint key."""
    keys = {CrawlDirectory(tmp_path / name, "generic").manifest.fingerprint_key for name in "ab"}
    assert len(keys) == 2


def test_a_resumed_crawl(tmp_path):
    """The second time, the same directory is the same crawl."""
    first, second = CrawlDirectory(tmp_path, "generic"), CrawlDirectory(tmp_path, "generic")
    assert second.resumed
    assert second.manifest == first.manifest


MAKER = """
import sys, time
from pathlib import Path
from sitecrawl.crawldir.directory import CrawlDirectory

base, patience, own, other = Path(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:]
end = time.monotonic() + patience
for number in range(50):
    (base / f"{number}-{own}").touch()
    while not (base / f"{number}-{other}").exists():
        assert time.monotonic() < end, "the other one is gone"
    print(CrawlDirectory(base / str(number), "generic").manifest.key)
"""


def test_two_crawls_that_begin_at_once(tmp_path):
    """One makes the directory and the other finds it made: both know the same key, and it stays."""
    words = [sys.executable, "-c", MAKER, str(tmp_path), str(PATIENCE)]
    makers = [subprocess.Popen([*words, *names], stdout=subprocess.PIPE, text=True) for names in ("ab", "ba")]
    first, second = (maker.communicate(timeout=PATIENCE)[0].split() for maker in makers)
    assert len(first) == 50
    assert first == second
    for number, key in enumerate(first):
        manifest = read_manifest(tmp_path / str(number))
        assert manifest is not None
        assert manifest.key == key
        assert [entry.name for entry in (tmp_path / str(number)).iterdir()] == [MANIFEST]


def test_a_manifest_outlives_a_power_failure(tmp_path, monkeypatch):
    """Its content is synced before it has its name, and then its name: without its key the crawl is lost."""
    synced, sync = [], os.fsync

    def fsync(descriptor):
        synced.append((os.fstat(descriptor).st_ino, (tmp_path / MANIFEST).exists()))
        sync(descriptor)

    monkeypatch.setattr("os.fsync", fsync)
    CrawlDirectory(tmp_path, "generic")
    assert synced == [((tmp_path / MANIFEST).stat().st_ino, False), (tmp_path.stat().st_ino, True)]


def test_the_crawl_of_another_spider(tmp_path):
    """Another spider's crawl is refused, with both names."""
    CrawlDirectory(tmp_path, "news")
    with pytest.raises(FormatMismatch, match=r"'news'.*'generic'.*choose another JOBDIR, or run that spider"):
        CrawlDirectory(tmp_path, "generic")


def test_a_jobdir_of_scrapy(tmp_path):
    """A directory that Scrapy's own scheduler has used is refused and left as it is."""
    (tmp_path / "requests.queue").mkdir()
    with pytest.raises(FormatMismatch, match=r"requests\.queue.*new directory as JOBDIR"):
        CrawlDirectory(tmp_path, "generic")
    assert [entry.name for entry in tmp_path.iterdir()] == ["requests.queue"]


def test_a_directory_that_a_crash_left_empty(tmp_path):
    """A crash while the manifest is written costs nothing: the crawl begins again."""
    (tmp_path / f"{MANIFEST}.new").write_text('{"magic"')
    assert not CrawlDirectory(tmp_path, "generic").resumed
    assert [entry.name for entry in tmp_path.iterdir()] == [MANIFEST]


def test_the_manifest_is_whole_or_not_there(tmp_path, monkeypatch):
    """A manifest that could not be written to its end leaves none."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directory.os, "fsync", full)
    with pytest.raises(StorageError, match=r"No space left.*choose a directory"):
        CrawlDirectory(tmp_path, "generic")
    assert read_manifest(tmp_path) is None


@pytest.mark.parametrize("change", [{"format": 3}, {"hash": "sha1"}, {"format": 3, "more": True}])
def test_a_later_format(tmp_path, change):
    """A crawl of a later version is refused, and says what to use."""
    CrawlDirectory(tmp_path, "generic")
    rewrite(tmp_path, **change)
    with pytest.raises(FormatMismatch, match="use the version that wrote it"):
        CrawlDirectory(tmp_path, "generic")


def test_the_key_of_another_crawl(tmp_path):
    """A worker's directory is that of one crawl on Redis."""
    begun = CrawlDirectory(tmp_path, "generic", key=bytes(16))
    assert CrawlDirectory(tmp_path, "generic").manifest == begun.manifest
    with pytest.raises(FormatMismatch, match="another crawl than that on Redis"):
        CrawlDirectory(tmp_path, "generic", key=bytes(15) + b"x")


@pytest.mark.parametrize("content", [b'{"magic": "other"}', b"[]", b"7", b"null"])
def test_a_manifest_of_someone_else(tmp_path, content):
    """A `crawl.json` that another program wrote is refused."""
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(FormatMismatch, match="choose another directory"):
        CrawlDirectory(tmp_path, "generic")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_manifest_that_is_no_json(tmp_path, content):
    """A manifest that cannot be read is corrupt, and not a new crawl."""
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(CorruptFile, match="check-crawl --repair"):
        CrawlDirectory(tmp_path, "generic")


@pytest.mark.parametrize("change", [{"key": "00"}, {"key": "x" * 32}, {"key": None}, {"key": 7}, {"more": 1}])
def test_a_manifest_with_a_wrong_value(tmp_path, change):
    """A key that is none, or a field that is not known in this format, is corrupt."""
    CrawlDirectory(tmp_path, "generic")
    rewrite(tmp_path, **change)
    with pytest.raises(CorruptFile, match="check-crawl --repair"):
        CrawlDirectory(tmp_path, "generic")


def test_a_torn_manifest(tmp_path):
    """Wherever a manifest is cut, it is corrupt."""
    CrawlDirectory(tmp_path, "generic")
    content = (tmp_path / MANIFEST).read_bytes()
    for size in range(len(content)):
        (tmp_path / MANIFEST).write_bytes(content[:size])
        with pytest.raises(CorruptFile):
            read_manifest(tmp_path)


def test_a_path_that_is_a_file(tmp_path):
    """A JOBDIR that is a file is refused, and the file is left as it is."""
    file = tmp_path / "seeds.txt"
    file.write_text("mine")
    with pytest.raises(StorageError, match="choose a directory"):
        CrawlDirectory(file, "generic")
    assert file.read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs a file system with permissions")
def test_a_place_that_cannot_be_written(tmp_path):
    """Where the file system says no, the error names the place."""
    place = "/proc/crawl" if os.geteuid() == 0 else tmp_path / "locked" / "crawl"
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="crawl cannot be used"):
        CrawlDirectory(tmp_path / place, "generic")
