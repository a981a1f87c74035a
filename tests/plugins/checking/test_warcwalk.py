"""WARC files that are damaged, and such as were made to cost the repair its time."""

from __future__ import annotations

import random
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from pagestore_helpers import STARTED, exchange, warc_files

from sitecrawl.pagestore import WarcOptions, WarcStore, gzipping, record
from sitecrawl.pagestore.files import Seal
from sitecrawl.pagestore.gzipping import compress_member
from sitecrawl.plugins.checking.warcwalk import Stretch, _Work, walk

KEY = b"the crawl's key."
HEAD = b"\x1f\x8b\x08" + bytes(7)


class Little(_Work):
    LEAST = 64 << 10


class Endless(_Work):
    LEAST = 1 << 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Ten pages, each with a body that does not compress."""
    store = WarcStore(tmp_path, WarcOptions(key=KEY))
    for number in range(10):
        body = random.Random(number).randbytes(3_000)
        store.put(exchange(f"http://site.example/{number}", body, started=STARTED + number))
    store.checkpoint()
    store.close()
    (path,) = warc_files(tmp_path)
    return path


def walked(path: Path, work: _Work | None = None) -> list[Stretch]:
    """The stretches of a file, which leave nothing of it out."""
    found = list(walk(path, Seal(KEY), work=work))
    assert found[0].offset == 0
    assert found[-1].end == path.stat().st_size
    assert all(one.end == other.offset for one, other in pairwise(found))
    return found


def answers(stretches: list[Stretch]) -> list[str]:
    return [one.record.fields["warc-target-uri"][-1] for one in stretches if one.record and one.is_answer]


def stored_block(content: bytes) -> bytes:
    """A part of a deflate stream that is not the last, and has `content` as it is (RFC 1951, section 3.2.4)."""
    return struct.pack("<BHH", 0, len(content), len(content) ^ 0xFFFF) + content


def hall_of_mirrors(beginnings: int) -> bytes:
    """Each of them unpacks to all that stands behind it, for 64 KB."""
    through = struct.pack("<BHH", 0, 0xFFFF, 0)
    return (HEAD + stored_block(b"WARC/1.1\r\n") + through) * beginnings + bytes(70_000)


def test_a_whole_file(file: Path) -> None:
    """It is all records, and nothing was unpacked in vain."""
    work = _Work()
    assert answers(walked(file, work)) == [*"0123456789"]
    assert work.spent == 0


@pytest.mark.parametrize("place", [0.02, 0.3, 0.7, 0.99])
def test_the_records_behind_a_damage(place: float, file: Path) -> None:
    """One stretch is no record, and of the ten answers at most one is in it."""
    content = bytearray(file.read_bytes())
    content[int(len(content) * place)] ^= 1
    file.write_bytes(content)
    found = walked(file)
    assert sum(one.record is None for one in found) == 1
    assert len(answers(found)) >= 9


def test_a_file_that_ends_in_a_record(file: Path) -> None:
    """What came before it is there."""
    file.write_bytes(file.read_bytes()[:-20])
    found = walked(file)
    assert found[-1].record is None
    assert answers(found) == [*"012345678"]


def test_beginnings_without_end_cost_no_more_than_the_file_may(file: Path) -> None:
    """What is unpacked in vain has a limit by the file's length, and the records behind are found."""
    records = file.read_bytes()
    file.write_bytes(hall_of_mirrors(4_000) + records)
    endless, little = Endless(), Little()
    walked(file, endless)
    found = walked(file, little)
    most = Little.LEAST + (_Work.PER_BYTE + 1) * file.stat().st_size
    assert endless.spent > 50 * most
    assert little.spent <= most
    assert answers(found) == [*"0123456789"]


def test_a_bomb_is_not_unpacked_to_its_end(file: Path) -> None:
    """A member that begins as a record and goes on for 64 MB is left when the work is done."""
    bomb = compress_member(b"WARC/1.1\r\n" + bytes(64 << 20))[:-9]
    file.write_bytes(bomb + b"x" + file.read_bytes())
    work = Little()
    assert answers(walked(file, work))[-1:] == ["9"]
    assert work.spent <= Little.LEAST + (_Work.PER_BYTE + 1) * file.stat().st_size


def test_a_record_in_the_body_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its author can put one there, whole: where the page's own record is damaged, it is no record of the crawl."""
    of = exchange("http://bank.example/", b"<title>Your password, please</title>")
    written = record.response(of, record.new_record_id(), record.digest(of.body), reading=record.Reading("page", 0))
    forged = compress_member(written)
    monkeypatch.setattr(gzipping, "_compress", zlib.compress)
    monkeypatch.setattr(gzipping, "_level", 0)  # what does not compress is stored as it came
    store = WarcStore(tmp_path, WarcOptions(key=KEY))
    for number, body in enumerate([b"first", b"#" * 500 + forged * 2, b"last"]):
        store.put(exchange(f"http://site.example/{number}", body, started=STARTED + number))
    store.checkpoint()
    store.close()
    (path,) = warc_files(tmp_path)
    content = bytearray(path.read_bytes())
    content[content.index(forged) - 100] ^= 1
    path.write_bytes(content)
    work = _Work()
    assert answers(walked(path, work)) == ["0", "2"]
    assert work.spent > 2 * len(written)
