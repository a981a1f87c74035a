"""A file that a person wrote is text with ends of lines of one kind, or an error that says what it is instead."""

from pathlib import Path

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.base.text_files import MAX_SIZE, Wrong, text_in


def test_a_file_of_windows(tmp_path: Path) -> None:
    """The mark at its head and the ends of its lines are none of what it says."""
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert text_in(tmp_path / "a", "job") == "a\nb\n"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, a folder, a name that no file has, and one that is too large."""
    (tmp_path / "large").write_bytes(b"#" * (MAX_SIZE + 1))
    names = {
        "nowhere": "No such file",
        ".": "Is a directory",
        "a\0b": "no file has such",
        "large": "more than 1048576",
    }
    for name, why in names.items():
        with pytest.raises(OptionError, match=rf"(?s)^The job .* cannot be read: {why}"):
            text_in(tmp_path / name, "job")


def test_what_is_no_text(tmp_path: Path) -> None:
    """Latin-1 is told with its line."""
    (tmp_path / "a").write_bytes("a\nb = 'ü'".encode("latin-1"))
    with pytest.raises(Wrong, match="this is no UTF-8") as caught:
        text_in(tmp_path / "a", "job")
    assert caught.value.line == 2
