"""Files that may be anything, as plain values with lines."""

from pathlib import Path

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import Problem
from sitecrawl.base.text_files import MAX_SIZE
from sitecrawl.plugins.jobs.job import _read_document


def written(tmp_path: Path, name: str, content: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


TOML = '\ufeff[crawl]\r\nseeds = ["a.example"]\r\nmax_pages = 5\r\n'


def test_values_and_lines(tmp_path: Path) -> None:
    """Each value knows its line, also in a file of Windows with a mark at its head."""
    document = _read_document(written(tmp_path, "a.TOML", TOML))
    assert document.values == {"crawl": {"seeds": ["a.example"], "max_pages": 5}}
    found = [Problem(("crawl", "max_pages"), "second"), Problem(("crawl", "seeds", 0), "first"), Problem((), "whole")]
    assert [line.removeprefix(f"{document.path}, ") for line in document.told(found).splitlines()] == [
        "line 1: whole", "line 2: first", "line 3: second",
    ]  # fmt: skip


HOSTILE: list[tuple[str, bytes | str, str]] = [
    ("a.yaml", "crawl: {}", "those are TOML"),
    ("a.toml", b"\x00\xff\xfe", "line 1: this is no UTF-8"),
    ("a.toml", b"a = 1\nb = '\xff'", "line 2: this is no UTF-8"),
    ("a.toml", "a = 1\nb =\n", "line 2: Invalid value"),
    ("a.toml", "a = 1\na = 2", "line 2: Cannot overwrite a value"),
    ("a.toml", "a = [1,\n", "line 1: "),
    ("a.toml", "a = " + "[" * 100_000, "too many lists or tables within one another"),
    ("a.toml", "a" * 1_000_000, "line 1: "),
    ("a.toml", "a = " + "9" * 10_000, "a.toml: "),
    ("a.toml", b"#" * (MAX_SIZE + 1), "more than 1048576 bytes"),
    ("a.toml", "[crawl]\n\x00", "line 2: "),
    ("a.toml", "crawl:\n  seeds: a\n", "line 1: "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files(name: str, content: bytes | str, message: str, tmp_path: Path) -> None:
    """Whatever is in a file, one error names the file and what is wrong."""
    path = written(tmp_path, name, content)
    with pytest.raises(OptionError) as raised:
        _read_document(path)
    assert str(path) in str(raised.value)
    assert message in str(raised.value)


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there, or a folder, is said to be."""
    with pytest.raises(OptionError, match="No such file"):
        _read_document(tmp_path / "none.toml")
    (tmp_path / "none.toml").mkdir()
    with pytest.raises(OptionError, match="Is a directory"):
        _read_document(tmp_path / "none.toml")
