"""A partition as a whole, in as few bytes as it takes: its *snapshot*, which stands in Redis in the place of a log.

A snapshot is made of *parts*, each of some of the partition's rows (`frontier.moving.parts_of`). How little is left
of them when what is alike stands together is measured by `benchmarks/partition_memory.py`:

- *Columns.* Records of URLs stand in the order in which they became known, by host, and each of their fields by
  itself: neighbours were found on one page, so they have its fingerprint, depth and credit in common. Zstandard does
  the rest.
- *Nothing random twice.* A fingerprint is 14 random bytes, which nothing compresses. That of a URL is made again
  from its text. All others (where a URL was found, which page had a content first) are numbers in one list of names:
  the URLs of the part, in their order, then the fingerprints of what is not in it.
- *Nothing that follows.* Rows of the queue are made of the records, and of the four rows of a text only one is kept.

What remains is random by nature: 16 bytes of digest for a body that is nobody else's, 16 for a title and a text.

Layout: docs/formats/snapshot.md. A row that is not as these say is kept as it is, so any rows come back, but for
those of the queue, which are those of the records.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final
from zlib import crc32

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.frames import compress, decompress
from sitecrawl.frontier.forms.duplicates import text_keys
from sitecrawl.frontier.moving import Facts, Row
from sitecrawl.frontier.urls.record import UrlState

LEVEL: Final = 9
"""Zstandard level; see the benchmark."""
_FIELDS: Final = (1, 1, 2, 2, 2, 8, 8, 4, 8, 4, 16, 8, 8, 1, 8)
"""How wide the fields of a record are, but that the last four bytes of its rank, where order counts URLs, are one."""
_HEAD: Final = sum(_FIELDS)
_AT: Final = [slice(end - width, end) for end, width in zip(accumulate(_FIELDS), _FIELDS, strict=True)]
_SERIAL: Final = 9
_REFERRER: Final = 10
_CLASS: Final = struct.Struct(">16s8s16s1s")
_TEXT: Final = struct.Struct(">8s16s")
_MASK: Final = (1 << 32) - 1
_QUEUED: Final = bytes([UrlState.QUEUED])

Fingerprint = Callable[[str], bytes]


class _Names:
    """Numbers for fingerprints: those of `keys`, then others as they come."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._places = {key: place for place, key in enumerate(keys)}
        self._own = len(self._places)

    def place(self, name: bytes) -> int:
        return self._places.setdefault(name, len(self._places))

    def places(self, names: Iterable[bytes]) -> list[int]:
        places = self._places
        return [places.setdefault(name, len(places)) for name in names]

    def others(self) -> bytes:
        return b"".join(list(self._places)[self._own :])

    def beginnings(self) -> dict[bytes, int]:
        """The same by the first eight bytes."""
        return {name[:8]: place for name, place in self._places.items()}


def pack_part(facts: Facts, rows: Iterable[Row], fingerprint: Fingerprint) -> bytes:
    """`fingerprint` gives the key of a URL that is fetched by GET."""
    families: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
    for family, key, value in rows:
        if family != "queue":
            families[family][key] = value
    urls = _take(families["urls"], lambda key, value: len(key) == 16 and len(value) >= _HEAD)
    urls.sort(key=lambda row: row[1][16:24] + row[1][36:40])
    names = _Names([key for key, _ in urls])
    columns = [
        _pack_urls(urls, names, fingerprint),
        _pack_digests(_take(families["content"], _is_digest), names),
        _pack_titles(_take(families["content"], _is_title), names),
        _pack_texts(_take_texts(families["content"]), names),
        _pack_classes(_take(families["classes"], lambda key, value: len(key) == 16 and len(value) == 41), names),
    ]
    rest = [(family, list(held), list(held.values())) for family, held in families.items() if held]
    packed = msgpack.packb([list(facts), names.others(), columns, rest])
    return compress(packed, LEVEL)


def unpack_part(data: bytes, fingerprint: Fingerprint) -> tuple[Facts, list[Row]]:
    """Raises `CorruptFile` for bytes that no `pack_part` wrote, or if `fingerprint` is not as it was then."""
    try:
        facts, others, (urls, *columns), rest = msgpack.unpackb(decompress(data))
        rows = [(family, key, value) for family, *held in rest for key, value in zip(*held, strict=True)]
        keys = _unpack_keys(urls, fingerprint)
        names = [*keys, *_split(others, 16)]
        rows += _unpack_urls(urls, keys, names)
        for unpack, column in zip(_UNPACK, columns, strict=True):
            rows += unpack(column, names)
        return Facts.of(facts), rows
    except (ValueError, TypeError, IndexError, struct.error, msgpack.UnpackException) as error:
        raise CorruptFile(f"A part of {len(data)} bytes of a snapshot cannot be read: {error}") from error


def _take(held: dict[bytes, bytes], is_usual: Callable[[bytes, bytes], bool]) -> list[tuple[bytes, bytes]]:
    """Take the rows out that have their place in columns."""
    taken = [row for row in held.items() if is_usual(*row)]
    for key, _ in taken:
        del held[key]
    return taken


# Numbers


def _pack_numbers(numbers: Sequence[int]) -> bytes:
    """By how much each is greater than the one before, modulo 2^32: all first bytes, then all second ones, and so
    on.
    """
    steps = [(number - before) & _MASK for before, number in zip((0, *numbers), numbers, strict=False)]
    data = struct.pack(f">{len(steps)}I", *steps)
    return b"".join(data[byte::4] for byte in range(4))


def _numbers(packed: bytes) -> list[int]:
    count = len(packed) // 4
    data = bytearray(4 * count)
    for byte in range(4):
        data[byte::4] = packed[byte * count : (byte + 1) * count]
    return list(accumulate(struct.unpack(f">{count}I", data), lambda before, step: (before + step) & _MASK))


def _named(packed: bytes, names: Sequence[bytes]) -> list[bytes]:
    return [names[place] for place in _numbers(packed)]


def _split(column: bytes, width: int) -> list[bytes]:
    return [column[start : start + width] for start in range(0, len(column), width)]


# URLs


def _pack_urls(urls: Sequence[tuple[bytes, bytes]], names: _Names, fingerprint: Fingerprint) -> list[Any]:
    texts = [value[_HEAD:] for _, value in urls]
    others = [(place, key) for place, (key, _) in enumerate(urls) if _key(texts[place], fingerprint) != key]
    checksum = crc32(b"".join([key for key, _ in urls]))
    serials = _pack_numbers([int.from_bytes(value[_AT[_SERIAL]]) for _, value in urls])
    referrers = _pack_numbers(names.places(value[_AT[_REFERRER]] for _, value in urls))
    columns = [b"".join([value[at] for _, value in urls]) for at in _AT if at not in (_AT[_SERIAL], _AT[_REFERRER])]
    return [texts, others, checksum, columns, [serials, referrers]]


def _key(text: bytes, fingerprint: Fingerprint) -> bytes:
    """Nothing for what is no URL."""
    try:
        return fingerprint(text.decode())
    except ValueError:
        return b""


def _unpack_keys(packed: Sequence[Any], fingerprint: Fingerprint) -> list[bytes]:
    texts, others, checksum, *_ = packed
    other = dict(others)
    keys = [other[place] if place in other else _key(text, fingerprint) for place, text in enumerate(texts)]
    if crc32(b"".join(keys)) != checksum:
        raise ValueError("its URLs have other fingerprints here: do all workers have the same settings?")
    return keys


def _unpack_urls(packed: Sequence[Any], keys: Sequence[bytes], names: Sequence[bytes]) -> Iterator[Row]:
    """The records, and the queue."""
    texts, _, _, columns, (serials, referrers) = packed
    widths = [width for place, width in enumerate(_FIELDS) if place not in (_SERIAL, _REFERRER)]
    fields = [_split(column, width) for column, width in zip(columns, widths, strict=True)]
    fields.insert(_SERIAL, [serial.to_bytes(4) for serial in _numbers(serials)])
    fields.insert(_REFERRER, _named(referrers, names))
    for key, text, *record in zip(keys, texts, *fields, strict=True):
        head = b"".join(record)
        yield "urls", key, head + text
        if record[0] == _QUEUED:
            yield "queue", head[16:40] + key, b""


# Contents: see `frontier.forms.duplicates`


def _is_digest(key: bytes, value: bytes) -> bool:
    return key[:1] == b"D" and len(key) == 17 and len(value) == 16


def _is_title(key: bytes, value: bytes) -> bool:
    return key[:1] == b"T" and len(key) == 17 and 0 < len(value) < 256 * _TEXT.size and len(value) % _TEXT.size == 0


def _take_texts(content: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Host, title and SimHash of each text of which all rows are there, and its original."""
    texts = []
    for key, original in [row for row in content.items() if row[0][:1] == b"N" and row[0][17:18] == b"\0"]:
        if len(key) != 28 or len(original) != 16:
            continue
        rows = list(text_keys(key[:17], int.from_bytes(key[20:])))
        if all(content.get(row) == original for row in rows):
            texts.append((key[1:17] + key[20:], original))
            for row in rows:
                del content[row]
    return texts


def _pack_digests(rows: Sequence[tuple[bytes, bytes]], names: _Names) -> list[bytes]:
    found = sorted((names.place(original), key[1:]) for key, original in rows)
    return [b"".join([digest for _, digest in found]), _pack_numbers([place for place, _ in found])]


def _unpack_digests(packed: Sequence[bytes], names: Sequence[bytes]) -> Iterator[Row]:
    for digest, original in zip(_split(packed[0], 16), _named(packed[1], names), strict=True):
        yield "content", b"D" + digest, original


def _pack_titles(rows: Sequence[tuple[bytes, bytes]], names: _Names) -> list[bytes]:
    found = sorted((key[1:9], names.place(value[8:24]), key[9:], value) for key, value in rows)
    texts = [text for *_, value in found for text in _TEXT.iter_unpack(value)]
    return [
        b"".join([host for host, *_ in found]),
        b"".join([title for _, _, title, _ in found]),
        bytes([len(value) // _TEXT.size for *_, value in found]),
        b"".join([text for text, _ in texts]),
        _pack_numbers(names.places(original for _, original in texts)),
    ]


def _unpack_titles(packed: Sequence[bytes], names: Sequence[bytes]) -> Iterator[Row]:
    hosts, titles, counts, hashes, originals = packed
    texts = iter(zip(_split(hashes, 8), _named(originals, names), strict=True))
    for host, title, count in zip(_split(hosts, 8), _split(titles, 8), counts, strict=True):
        value = b"".join([part for _ in range(count) for part in next(texts)])
        yield "content", b"T" + host + title, value


def _pack_texts(rows: Sequence[tuple[bytes, bytes]], names: _Names) -> list[bytes]:
    found = sorted((key[:16], names.place(original), key[16:]) for key, original in rows)
    return [
        b"".join([title for title, *_ in found]),
        b"".join([text for *_, text in found]),
        _pack_numbers([place for _, place, _ in found]),
    ]


def _unpack_texts(packed: Sequence[bytes], names: Sequence[bytes]) -> Iterator[Row]:
    titles, texts, originals = packed
    for title, text, original in zip(_split(titles, 16), _split(texts, 8), _named(originals, names), strict=True):
        for key in text_keys(b"N" + title, int.from_bytes(text)):
            yield "content", key, original


# Classes: see `frontier.forms.classes`


def _pack_classes(rows: Sequence[tuple[bytes, bytes]], names: _Names) -> list[Any]:
    found = sorted((names.place(key), value) for key, value in rows)
    fields = [_CLASS.unpack(value) for _, value in found]
    pages = names.places(page for page, *_ in fields)
    others = names.places(other for _, _, other, _ in fields)
    beginnings = names.beginnings()
    unnamed = list(dict.fromkeys(content for _, content, _, _ in fields if content not in beginnings))
    for content in unnamed:
        beginnings[content] = len(beginnings)
    return [
        _pack_numbers([place for place, _ in found]),
        _pack_numbers(pages),
        _pack_numbers([beginnings[content] for _, content, _, _ in fields]),
        _pack_numbers(others),
        b"".join([failures for *_, failures in fields]),
        unnamed,
    ]


def _unpack_classes(packed: Sequence[Any], names: Sequence[bytes]) -> Iterator[Row]:
    keys, pages, contents, others, failures, unnamed = packed
    beginnings = [*(name[:8] for name in names), *unnamed]
    fields = _named(keys, names), _named(pages, names), _named(contents, beginnings), _named(others, names)
    for key, page, content, other, failed in zip(*fields, failures, strict=True):
        yield "classes", key, page + content + other + bytes([failed])


_UNPACK: Final = (_unpack_digests, _unpack_titles, _unpack_texts, _unpack_classes)
