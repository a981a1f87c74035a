"""A seen set's directory: it resumes, it stands at its last flush after a kill, and bad files are named errors."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, OptionError, StorageError
from sitecrawl.frontier.seen.store import SeenOptions, SeenStore

KEYS = [bytes([i]) * 16 for i in range(200)]
EXACT = SeenOptions(capacity=1, cache=1)
TABLE = SeenOptions(bloom="md5:1000003", cache=1)


@pytest.fixture(params=[EXACT, TABLE], ids=["exact", "table"])
def options(request: pytest.FixtureRequest) -> SeenOptions:
    made: SeenOptions = request.param
    return made


def filled(path: Path, options: SeenOptions, count: int = 100) -> Path:
    store = SeenStore(path, options)
    store.seen.add_many(KEYS[:count])
    store.close()
    return path


def seen_count(path: Path, options: SeenOptions) -> int:
    store = SeenStore(path, options)
    answers = store.seen.contains_many(KEYS)
    store.close()
    assert answers == sorted(answers, reverse=True)
    return answers.count(True)


def test_a_closed_set_resumes(tmp_path: Path, options: SeenOptions) -> None:
    """What was seen in one run is seen in the next, under the same key."""
    first = SeenStore(tmp_path / "seen", options)
    first.seen.add_many(KEYS[:100])
    first.close()
    second = SeenStore(tmp_path / "seen", options)
    assert second.key == first.key
    assert second.rebuilt is None
    assert second.seen.add_many(KEYS) == [False] * 100 + [True] * 100
    second.close()
    assert seen_count(tmp_path / "seen", options) == 200


def test_two_sets_have_two_keys(tmp_path: Path, options: SeenOptions) -> None:
    """A fingerprint of one crawl says nothing in another."""
    stores = [SeenStore(tmp_path / name, options) for name in "ab"]
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


def test_after_a_kill_it_stands_at_the_last_flush(tmp_path: Path, options: SeenOptions) -> None:
    """Nothing flushed is lost, and nothing else is kept: its requests may be lost."""
    args = [sys.executable, "-c", KILLED, str(tmp_path / "seen"), json.dumps(asdict(options))]
    assert subprocess.run(args, check=False).returncode == -signal.SIGKILL
    assert seen_count(tmp_path / "seen", options) == 50


def test_a_set_in_use_is_an_error(tmp_path: Path, options: SeenOptions) -> None:
    """Two crawls do not share a set; when the first is closed the second may."""
    store = SeenStore(tmp_path / "seen", options)
    with pytest.raises(CrawlDirectoryInUse, match="stop it"):
        SeenStore(tmp_path / "seen", options)
    store.close()
    assert seen_count(tmp_path / "seen", options) == 0


def test_a_failed_opening_leaves_no_lock(tmp_path: Path) -> None:
    """After an error the directory can be opened with right options, in the same process."""
    path = filled(tmp_path / "seen", EXACT)
    with pytest.raises(OptionError):
        SeenStore(path, SeenOptions(bloom="none"))
    assert seen_count(path, EXACT) == 100


class TestFilterOfAnExactSet:
    """The exact set knows better: whatever the filter's file is, no key is lost."""

    @pytest.mark.parametrize(
        "damage",
        [Path.unlink, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(bytes(500))],
        ids=["gone", "empty", "foreign"],
    )
    def test_a_bad_filter_is_filled_again(self, tmp_path: Path, damage: Callable[[Path], None]) -> None:
        """A missing or damaged filter costs a rebuild, which is reported."""
        path = filled(tmp_path / "seen", EXACT)
        damage(path / "filter")
        store = SeenStore(path, EXACT)
        assert store.rebuilt
        store.close()
        assert seen_count(path, EXACT) == 100

    @pytest.mark.parametrize("other", [SeenOptions(bloom="pybloom-live"), SeenOptions(error_rate=0.2)])
    def test_another_filter_may_be_chosen_at_any_time(self, tmp_path: Path, other: SeenOptions) -> None:
        """The kind and the rate of the filter are free to change between two runs."""
        path = filled(tmp_path / "seen", EXACT)
        assert seen_count(path, other) == 100
        assert seen_count(path, EXACT) == 100

    def test_a_filter_whose_library_is_gone_is_filled_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By the one that is left: nobody has asked for the other by name."""
        path = filled(tmp_path / "seen", replace(EXACT, bloom="rbloom"))
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        store = SeenStore(path, replace(EXACT, bloom="auto"))
        assert "sitecrawl[fast]" in (store.rebuilt or "")
        assert store.seen.bloom is not None
        assert store.seen.bloom.name == "pybloom-live"
        store.close()
        assert seen_count(path, EXACT) == 100

    def test_a_filter_of_an_earlier_flush_is_filled_again(self, tmp_path: Path) -> None:
        """A filter that lacks keys would call them new."""
        path = filled(tmp_path / "seen", EXACT, 50)
        old = (path / "filter").read_bytes()
        filled(path, EXACT, 100)
        (path / "filter").write_bytes(old)
        store = SeenStore(path, EXACT)
        assert store.rebuilt == "it held 50 of 100 keys"
        store.close()
        assert seen_count(path, EXACT) == 100


class TestFilterAlone:
    """Without an exact set the filter is all there is: no damage is taken for an empty set."""

    @pytest.mark.parametrize(
        ("damage", "error"),
        [
            (Path.unlink, CorruptFile),
            (lambda file: file.write_bytes(b""), CorruptFile),
            (lambda file: file.write_bytes(bytes(500)), FormatMismatch),
        ],
        ids=["gone", "empty", "foreign"],
    )
    def test_a_bad_filter_is_an_error(
        self, tmp_path: Path, damage: Callable[[Path], None], error: type[StorageError]
    ) -> None:
        """The message says what to do."""
        path = filled(tmp_path / "seen", TABLE)
        damage(path / "filter")
        with pytest.raises(error):
            SeenStore(path, TABLE)

    def test_another_table_is_refused(self, tmp_path: Path) -> None:
        """There is nothing to fill another one from."""
        path = filled(tmp_path / "seen", TABLE)
        with pytest.raises(FormatMismatch, match="use the settings that wrote it"):
            SeenStore(path, replace(TABLE, bloom="md5:99991"))


@pytest.mark.parametrize(("before", "after"), [(EXACT, TABLE), (TABLE, EXACT)])
def test_a_set_does_not_change_its_mode(tmp_path: Path, before: SeenOptions, after: SeenOptions) -> None:
    """An exact set that missed a run would forget; a filter cannot become exact."""
    path = filled(tmp_path / "seen", before)
    with pytest.raises(FormatMismatch, match="use the settings that wrote it"):
        SeenStore(path, after)


def test_a_lost_key_is_an_error(tmp_path: Path, options: SeenOptions) -> None:
    """Under a new key every URL would look new."""
    path = filled(tmp_path / "seen", options)
    (path / "key").unlink()
    with pytest.raises(CorruptFile, match="key is missing"):
        SeenStore(path, options)


def test_a_making_that_was_killed_begins_again(tmp_path: Path) -> None:
    """The filter of a set without an exact one is written before its key: alone and empty it is no lost set."""
    path = filled(tmp_path / "seen", TABLE, count=0)
    (path / "key").unlink()
    assert seen_count(filled(path, TABLE), TABLE) == 100


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no other process that has the set open."""

    def no_lock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_lock)
    with pytest.raises(StorageError, match="No locks available") as caught:
        SeenStore(tmp_path / "seen", EXACT)
    assert not isinstance(caught.value, CrawlDirectoryInUse)


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path, options: SeenOptions) -> None:
    """The operating system's reason is in the message."""
    (tmp_path / "seen").write_text("no directory")
    with pytest.raises(StorageError, match="File exists"):
        SeenStore(tmp_path / "seen", options)
