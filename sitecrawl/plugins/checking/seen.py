"""The saved Bloom filter: where it says of a known URL that it is new, the URL would be fetched and stored twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import SEEN_SERIAL
from sitecrawl.frontier.urls.crawl_seen import SEEN_FILE
from sitecrawl.plugins.checking.problems import Problem
from sitecrawl.seen.bloom import MAGIC, VERSION, load_bloom
from sitecrawl.seen.files import read_file
from sitecrawl.urls.fingerprint import HASH_NAME


def check_seen(directory: Path, database: Database, serial: int, notes: list[str]) -> Iterator[Problem]:
    """Whether every known URL is in the filter, if the next start is going to use it. `serial`: the newest URL's."""
    path = directory / SEEN_FILE
    if database.get("meta", SEEN_SERIAL) != serial.to_bytes(8, "big"):
        notes.append("the Bloom filter was not saved at the end: the next start fills it again")
        return
    try:
        header, _ = read_file(path, MAGIC, VERSION)
        bloom = load_bloom(path, "auto", error_rate=header["error_rate"], hash_name=HASH_NAME)
    except (FileNotFoundError, StorageError, OptionError) as error:
        notes.append(f"the Bloom filter cannot be used: the next start fills it again ({error})")
        return
    lost = 0
    for keys in batches(key for key, _ in database.scan("urls")):
        lost += bloom.contains_many(keys).count(False)
    if lost:
        yield Problem(
            SEEN_FILE,
            f"{lost:,} known URLs are not in the filter: they would be fetched twice",
            "removes it, and the next start fills it again",
        )


def drop_filter(directory: Path) -> None:
    """Let the next start fill the filter again."""
    (directory / SEEN_FILE).unlink(missing_ok=True)
