"""A seen set's directory: it resumes, it stands at its last flush after a kill, and bad files are named errors."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from seen_helpers import of_another_kind

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, OptionError, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.frontier.seen.files import read_file, write_file
from sitecrawl.frontier.seen.store import MAGIC, VERSION, SeenOptions, SeenStore

KEYS = [bytes([i]) * 16 for i in range(200)]
OPTIONS = SeenOptions(capacity=1, cache=1)


def filled(path: Path, count: int = 100) -> Path:
    store = SeenStore(path, OPTIONS)
    store.seen.add_many(KEYS[:count])
    store.close()
    return path


def seen_count(path: Path, options: SeenOptions = OPTIONS) -> int:
    store = SeenStore(path, options)
    answers = store.seen.contains_many(KEYS)
    store.close()
    assert answers == sorted(answers, reverse=True)
    return answers.count(True)


def test_a_closed_set_resumes(tmp_path: Path) -> None:
    """What was seen in one run is seen in the next, under the same key."""
    first = SeenStore(tmp_path / "seen", OPTIONS)
    first.seen.add_many(KEYS[:100])
    first.close()
    second = SeenStore(tmp_path / "seen", OPTIONS)
    assert second.key == first.key
    assert second.rebuilt is None
    assert second.seen.add_many(KEYS) == [False] * 100 + [True] * 100
    second.close()
    assert seen_count(tmp_path / "seen") == 200


def test_two_sets_have_two_keys(tmp_path: Path) -> None:
    """A fingerprint of one crawl says nothing in another."""
    stores = [SeenStore(tmp_path / name, OPTIONS) for name in "ab"]
    assert stores[0].key != stores[1].key
    for store in stores:
        store.close()


KILLED = """
import json, os, signal, sys
from pathlib import Path
from sitecrawl.frontier.seen.store import SeenOptions, SeenStore
store = SeenStore(Path(sys.argv[1]), SeenOptions(**json.loads(sys.argv[2])))
keys = [bytes([i]) * 16 for i in range(200)]
store.seen.add_many(keys[:50])
store.flush()
store.seen.add_many(keys[50:])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_it_stands_at_the_last_flush(tmp_path: Path) -> None:
    """Nothing flushed is lost, and nothing else is kept: its requests may be lost."""
    args = [sys.executable, "-c", KILLED, str(tmp_path / "seen"), json.dumps(asdict(OPTIONS))]
    assert subprocess.run(args, check=False).returncode == -signal.SIGKILL
    assert seen_count(tmp_path / "seen") == 50


def test_a_set_in_use_is_an_error(tmp_path: Path) -> None:
    """Two crawls do not share a set; when the first is closed the second may."""
    store = SeenStore(tmp_path / "seen", OPTIONS)
    with pytest.raises(CrawlDirectoryInUse, match="stop it"):
        SeenStore(tmp_path / "seen", OPTIONS)
    store.close()
    assert seen_count(tmp_path / "seen") == 0


def test_a_failed_opening_leaves_no_lock(tmp_path: Path) -> None:
    """After an error the directory can be opened with right options, in the same process."""
    path = filled(tmp_path / "seen")
    with pytest.raises(OptionError):
        SeenStore(path, SeenOptions(error_rate=2))
    assert seen_count(path) == 100


class TestFilterOfAnExactSet:
    """The exact set knows better: whatever the filter's file is, no key is lost."""

    @pytest.mark.parametrize(
        "damage",
        [Path.unlink, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(bytes(500))],
        ids=["gone", "empty", "foreign"],
    )
    def test_a_bad_filter_is_filled_again(self, tmp_path: Path, damage: Callable[[Path], None]) -> None:
        """A missing or damaged filter costs a rebuild, which is reported."""
        path = filled(tmp_path / "seen")
        damage(path / "filter")
        store = SeenStore(path, OPTIONS)
        assert store.rebuilt
        store.close()
        assert seen_count(path) == 100

    def test_another_rate_may_be_chosen_at_any_time(self, tmp_path: Path) -> None:
        """The rate of the filter is free to change between two runs."""
        path = filled(tmp_path / "seen")
        assert seen_count(path, SeenOptions(error_rate=0.2)) == 100
        assert seen_count(path) == 100

    def test_a_filter_of_another_kind_is_filled_again(self, tmp_path: Path) -> None:
        """That of a library that earlier versions could use."""
        path = filled(tmp_path / "seen")
        of_another_kind(path / "filter")
        store = SeenStore(path, OPTIONS)
        assert "'filter': 'rbloom'" in (store.rebuilt or "")
        store.close()
        assert seen_count(path) == 100

    def test_a_filter_of_an_earlier_flush_is_filled_again(self, tmp_path: Path) -> None:
        """A filter that lacks keys would call them new."""
        path = filled(tmp_path / "seen", 50)
        old = (path / "filter").read_bytes()
        filled(path, 100)
        (path / "filter").write_bytes(old)
        store = SeenStore(path, OPTIONS)
        assert store.rebuilt == "it held 50 of 100 keys"
        store.close()
        assert seen_count(path) == 100


def test_a_set_without_an_exact_one_is_refused(tmp_path: Path) -> None:
    """Earlier versions could keep a filter alone, from which no exact set can be made."""
    path = filled(tmp_path / "seen")
    _, key = read_file(path / "key", MAGIC, VERSION)
    write_file(path / "key", MAGIC, VERSION, {"hash": HASH_NAME, "exact": False}, [bytes(key)])
    with pytest.raises(FormatMismatch, match="use the version of sitecrawl that wrote it"):
        SeenStore(path, OPTIONS)


def test_a_lost_key_is_an_error(tmp_path: Path) -> None:
    """Under a new key every URL would look new."""
    path = filled(tmp_path / "seen")
    (path / "key").unlink()
    with pytest.raises(CorruptFile, match="key is missing"):
        SeenStore(path, OPTIONS)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no other process that has the set open."""

    def no_lock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_lock)
    with pytest.raises(StorageError, match="No locks available") as caught:
        SeenStore(tmp_path / "seen", OPTIONS)
    assert not isinstance(caught.value, CrawlDirectoryInUse)


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """The operating system's reason is in the message."""
    (tmp_path / "seen").write_text("no directory")
    with pytest.raises(StorageError, match="File exists"):
        SeenStore(tmp_path / "seen", OPTIONS)
