"""One page index over the page stores of several workers.

It has a row for each capture that counts, with a new id. Records stay in the workers' WARC files, to which there are
links beside it. So a `PageReader` reads it like the store of one process.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.collecting import Found, found_in, new_ids
from sitecrawl.pagestore.earlier import write_list
from sitecrawl.pagestore.index import PageIndex
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.pagestore.workers import WorkersReader


def merge(workers: WorkersReader, target: Path) -> None:
    """Make the index in the directory `target`. Raises `StorageError`."""
    ids = new_ids(workers)
    with file_errors(target):
        (target / WARC_DIRECTORY).mkdir()
    with closing(PageIndex(target / INDEX_FILE)) as index:
        for found in found_in(workers, [len(own) - 1 for own in ids]):
            capture = found.capture
            if not (found.counts or found.has_body_of_others):
                continue
            original = None if capture.revisit_of is None else ids[found.number][capture.revisit_of]
            ids[found.number][capture.id] = index.last_id + 1
            place = _linked(workers.readers[found.number].directory, found, target)
            index.add(_renamed(capture)._replace(id=index.last_id + 1, warc_file=place, revisit_of=original))
        index.commit(None, 0)
    if names := [str(path) for one in workers.readers for path in one.earlier.directories]:
        write_list(target, dict.fromkeys(names))


def _renamed(capture: Capture) -> Capture:
    """A copy without its URL key, for a capture that is kept only for its body."""
    return capture._replace(url_key="") if capture.kind == "other" else capture


def _linked(directory: Path, found: Found, target: Path) -> str:
    """Name of the link to the WARC file of a capture of the store in `directory`."""
    name = f"{found.number}-{found.capture.warc_file}"
    link = target / WARC_DIRECTORY / name
    with file_errors(link):
        if not link.is_symlink():
            link.symlink_to((directory / WARC_DIRECTORY / found.capture.warc_file).resolve())
    return name
