"""What may happen to a file of a crawl: bits flip, ends are lost or written twice, blocks come back as zeros, files
change places or are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

BLOCK: Final = 4096
"""Bytes that a disk loses at once."""


@dataclass(frozen=True)
class Damage:
    """One damage, which says of itself what it has done."""

    kind: str
    file: str
    """Its path in the crawl's directory."""
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} {self.file} {self.detail}".rstrip()


def files_of(directory: Path) -> list[Path]:
    """All files of a crawl, but for those that hold nothing: locks."""
    return sorted(path for path in directory.rglob("*") if path.is_file() and path.stat().st_size)


def damage(directory: Path, random: Random) -> Damage:
    """Do something to one of the files, or to two."""
    files = files_of(directory)
    kinds = sorted({_kind_of(file.relative_to(directory)) for file in files})
    wanted = random.choice(kinds)  # else the many tables would take most of what comes
    file = random.choice([file for file in files if _kind_of(file.relative_to(directory)) == wanted])
    name = random.choice(sorted(DAMAGES))
    return Damage(name, str(file.relative_to(directory)), DAMAGES[name](file, files, random))


def _kind_of(file: Path) -> str:
    """The files of a database have numbers in their names."""
    return str(file.parent / (file.stem.partition("-")[0] if file.stem[:1].isalpha() else "")) + file.suffix


def _flip(file: Path, files: Sequence[Path], random: Random) -> str:
    content = bytearray(file.read_bytes())
    at, bit = random.randrange(len(content)), random.randrange(8)
    content[at] ^= 1 << bit
    file.write_bytes(content)
    return f"bit {bit} of byte {at}"


def _cut(file: Path, files: Sequence[Path], random: Random) -> str:
    at = random.randrange(file.stat().st_size)
    file.write_bytes(file.read_bytes()[:at])
    return f"at {at}"


def _lengthen(file: Path, files: Sequence[Path], random: Random) -> str:
    more = random.choice([b"x", bytes(BLOCK), random.randbytes(100), file.read_bytes()[:BLOCK]])
    with file.open("ab") as end:
        end.write(more)
    return f"by {len(more)}, {more[:4]!r}"


def _empty(file: Path, files: Sequence[Path], random: Random) -> str:
    file.write_bytes(b"")
    return ""


def _delete(file: Path, files: Sequence[Path], random: Random) -> str:
    file.unlink()
    return ""


def _zero(file: Path, files: Sequence[Path], random: Random) -> str:
    content = bytearray(file.read_bytes())
    at = random.randrange(len(content)) // BLOCK * BLOCK
    length = min(BLOCK, len(content) - at)
    content[at : at + length] = bytes(length)
    file.write_bytes(content)
    return f"{length} at {at}"


def _swap(file: Path, files: Sequence[Path], random: Random) -> str:
    other = random.choice(files)
    first, second = file.read_bytes(), other.read_bytes()
    file.write_bytes(second)
    other.write_bytes(first)
    return f"with {other.parent.name}/{other.name}"


DAMAGES: Final[dict[str, Callable[[Path, Sequence[Path], Random], str]]] = {
    "flip": _flip,
    "cut": _cut,
    "lengthen": _lengthen,
    "empty": _empty,
    "delete": _delete,
    "zero": _zero,
    "swap": _swap,
}
