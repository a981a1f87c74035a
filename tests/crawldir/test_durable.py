"""Files that take the place of others."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

from sitecrawl.crawldir.durable import write_atomically


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """As a device is: nothing takes its place."""
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, [b"one ", b"two"])
    reader.join()
    assert read == [b"one two"]
    assert pipe.is_fifo()


def test_a_link_stays(tmp_path: Path) -> None:
    """And what it leads to is replaced."""
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_bytes(b"old")
    link.symlink_to(there)
    write_atomically(link, [b"new"])
    assert link.is_symlink()
    assert there.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == [link, there]
