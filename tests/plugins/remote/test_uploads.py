"""Files that wait until a store has them, whatever the store does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from waiting import until

from sitecrawl.plugins.remote.copy import _Upload, _Uploads
from sitecrawl.plugins.remote.store import Remote, RemoteError, _remote_options


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def uploads(store: Path) -> Iterator[_Uploads]:
    started = _Uploads(Remote(_remote_options(f"file://{store}", {})), first_pause=0.01)
    started.start()
    yield started
    started.stop()


def write(path: Path, text: str) -> None:
    path.write_text(text)


def file(folder: Path, name: str) -> _Upload:
    path = folder / name
    path.write_text(name)
    return _Upload(name, path)


def test_in_their_order(uploads: _Uploads, store: Path, tmp_path: Path) -> None:
    """Each is counted, with its size."""
    names = ["a", "b", "c"]
    for name in names:
        uploads.add(file(tmp_path, name))
    until(lambda: uploads.waiting == 0, "all are sent")
    assert (uploads.files, uploads.sent) == (3, 3)
    assert str(uploads) == f"3 WARC files at file://{store}"
    assert sorted(path.name for path in store.iterdir()) == names


def test_what_is_there(uploads: _Uploads, store: Path, tmp_path: Path) -> None:
    """It is not sent again, and counts as a file that the store has."""
    store.mkdir()
    (store / "a").write_text("b")
    uploads.add(file(tmp_path, "a"))
    until(lambda: uploads.waiting == 0, "it is asked for")
    assert (uploads.files, uploads.sent) == (1, 0)
    assert (store / "a").read_text() == "b"


def test_a_store_that_comes_back(
    uploads: _Uploads, store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again and again, and told of when it goes and when it comes."""
    caplog.set_level(logging.INFO)
    store.write_text("in the way")
    uploads.add(file(tmp_path, "a"))
    until(lambda: uploads.failures > 2, "several attempts have failed")
    assert (uploads.waiting, str(uploads)) == (1, f"0 WARC files at file://{store}, 1 waiting")
    store.unlink()
    until(lambda: uploads.waiting == 0, "the file is sent")
    assert (store / "a").read_text() == "a"
    told = [record.levelname for record in caplog.records]
    assert told == ["WARNING", "INFO"]


def test_a_file_that_is_gone_here(uploads: _Uploads, tmp_path: Path) -> None:
    """It holds up none of those behind it, and counts as a failure."""
    uploads.add(_Upload("gone", tmp_path / "gone"))
    uploads.add(file(tmp_path, "a"))
    until(lambda: uploads.waiting == 0, "nothing waits")
    assert (uploads.files, uploads.failures) == (1, 1)


def test_a_file_that_is_made(uploads: _Uploads, store: Path, tmp_path: Path) -> None:
    """It is made when its turn comes, and goes when it is sent."""
    passing = tmp_path / "passing"
    uploads.add(_Upload("index", passing, partial(write, passing, "rows")))
    until(lambda: uploads.waiting == 0, "it is sent")
    assert (store / "index").read_text() == "rows"
    assert not passing.exists()


def test_no_more_after_the_end(uploads: _Uploads, store: Path, tmp_path: Path) -> None:
    """What waits for a store that is away is waited for no longer."""
    store.write_text("in the way")
    uploads.add(file(tmp_path, "a"))
    until(lambda: uploads.failures > 0, "an attempt has failed")
    uploads.stop()
    until(lambda: not uploads._thread.is_alive(), "the thread has ended")
    assert uploads.waiting == 1


def test_pauses_begin_anew(uploads: _Uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow from attempt to attempt for one file, and have nothing to do with the next."""
    attempts = iter([False, False, True, False, True])

    def made() -> None:
        if not next(attempts):
            raise RemoteError("The store is away")
        (tmp_path / "passing").touch()

    waits = Mock(wraps=uploads._changed.wait_for)
    monkeypatch.setattr(uploads._changed, "wait_for", waits)
    for name in ("a", "b"):
        uploads.add(_Upload(name, tmp_path / "passing", made))
    until(lambda: uploads.waiting == 0, "both are sent")
    assert [pause for call in waits.call_args_list for pause in call.args[1:]] == [0.01, 0.02, 0.01]
