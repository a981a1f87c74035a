"""docs/formats/seen.md tells the truth: its examples are what the code writes."""

from __future__ import annotations

import re
from pathlib import Path

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.exact import COMMIT, LAYOUT, RocksSet
from sitecrawl.frontier.seen.files import read_file, write_file
from sitecrawl.frontier.seen.store import MAGIC, VERSION

DOCUMENT = (Path(__file__).parents[2] / "docs" / "formats" / "seen.md").read_text()


def spelled(key: bytes, value: bytes) -> str:
    return value.hex(" ") if key == COMMIT else value.decode()


def key(number: int) -> bytes:
    return bytes([number]) * 16


def test_the_example_of_a_key_file(tmp_path: Path) -> None:
    """The hexadecimal dump is a real file, byte for byte."""
    dump = re.findall(r"^0000[0-9a-f]0  ((?:[0-9a-f]{2} )+)", DOCUMENT, re.MULTILINE)
    header = {"hash": "cityhash64+blake2b64-2", "exact": True}
    write_file(tmp_path / "key", MAGIC, VERSION, header, [bytes(range(16))])
    assert (tmp_path / "key").read_bytes() == bytes.fromhex("".join(dump))
    assert header["hash"] == HASH_NAME


def test_the_example_of_a_filter(tmp_path: Path) -> None:
    """The header in the text is that of a filter with two layers and three keys."""
    bloom = ScalableBloom(capacity=2, error_rate=0.01)
    bloom.add_many([key(0), key(1), key(2)])
    bloom.save(tmp_path / "filter", HASH_NAME)
    content = (tmp_path / "filter").read_bytes()
    header = content[16 : 16 + int.from_bytes(content[12:16], "little")].decode()
    assert header in " ".join(DOCUMENT.split())


def test_the_example_of_a_crash(tmp_path: Path) -> None:
    """Two keys flushed, one written ahead: the records are those of the text."""
    exact = RocksSet(tmp_path / "exact", hash_name=HASH_NAME, spill=1)
    exact.add_many([key(1)])
    exact.add_many([key(2)])
    exact.flush()
    exact.add_many([key(3)])
    exact.add_many([])  # there is something to write ahead, and room is asked for
    exact._database.close()  # as a kill would leave it
    database = Database(tmp_path / "exact", hash_name=HASH_NAME, layout=LAYOUT)
    seen = [f"seen {key.hex()}  {value.hex()}" for key, value in database.scan("seen")]
    meta = [f"meta {key.decode():6}  {spelled(key, value)}" for key, value in database.scan("meta")]
    database.close()
    assert [line for line in DOCUMENT.splitlines() if line.startswith(("seen ", "meta "))] == seen + meta
    header, body = read_file(tmp_path / "exact" / "COMMIT", b"SCCOMMIT", 1)
    assert (header, bytes(body)) == ({"flush": 1}, b"")
