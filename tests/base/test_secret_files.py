"""A secret is what stands in its file, or an error that names the file and says nothing of what is in it."""

from pathlib import Path

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.base.secret_files import secret_in, some_secret_in


def test_space_around_it_is_none_of_it(tmp_path: Path) -> None:
    """An editor ends a file with a line feed."""
    (tmp_path / "secret").write_text(" let me in\n")
    assert secret_in(str(tmp_path / "secret"), "X") == some_secret_in(str(tmp_path / "secret"), "X") == "let me in"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, a folder, and what is no text."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, why in (("nowhere", "No such file"), (".", "Is a directory"), ("bytes", "it is no text")):
        with pytest.raises(OptionError, match=rf"^X is to be read from the file '.*': {why}"):
            secret_in(str(tmp_path / name), "X")


def test_nothing(tmp_path: Path) -> None:
    """An empty file is an empty text, where that may be."""
    (tmp_path / "empty").write_text("\n")
    assert not secret_in(str(tmp_path / "empty"), "X")
    with pytest.raises(OptionError, match="it is empty"):
        some_secret_in(str(tmp_path / "empty"), "X")
