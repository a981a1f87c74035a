"""Files that may be anything, as plain values with lines."""

from pathlib import Path

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import Problem
from sitecrawl.base.text_files import MAX_SIZE
from sitecrawl.plugins.jobs.document import read_document


def written(tmp_path: Path, name: str, content: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


TOML = '\ufeff[crawl]\r\nseeds = ["a.example"]\r\nmax_pages = 5\r\n'
YAML = "\ufeffcrawl:\r\n  seeds: [a.example]\r\n  max_pages: 5\r\n"


@pytest.mark.parametrize(("name", "text"), [("a.toml", TOML), ("a.yaml", YAML), ("a.YML", YAML)])
def test_values_and_lines(name: str, text: str, tmp_path: Path) -> None:
    """Both forms give the same values, and each knows its line, also of a file of Windows with a mark at its head."""
    document = read_document(written(tmp_path, name, text))
    assert document.values == {"crawl": {"seeds": ["a.example"], "max_pages": 5}}
    found = [Problem(("crawl", "max_pages"), "second"), Problem(("crawl", "seeds", 0), "first"), Problem((), "whole")]
    assert [line.removeprefix(f"{document.path}, ") for line in document.told(found).splitlines()] == [
        "line 1: whole", "line 2: first", "line 3: second",
    ]  # fmt: skip


def test_scalars_of_yaml(tmp_path: Path) -> None:
    """Plain scalars are what YAML 1.2 makes of them, and quoted ones texts."""
    text = "a: yes\nb: true\nc: 010\nd: 1:30\ne: 1.5\nf: '5'\ng: 2026-11-23\nh: ~\ni: 1e3\nj: .inf\nk: !!int '7'\n"
    assert read_document(written(tmp_path, "a.yaml", text)).values == {
        "a": "yes", "b": True, "c": 10, "d": "1:30", "e": 1.5, "f": "5", "g": "2026-11-23", "h": None, "i": 1000.0,
        "j": ".inf", "k": "7",
    }  # fmt: skip


BOMB = "a: &a0 [1]\n" + "".join(f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
HOSTILE: list[tuple[str, bytes | str, str]] = [
    ("a.toml", b"\x00\xff\xfe", "line 1: this is no UTF-8"),
    ("a.toml", b"a = 1\nb = '\xff'", "line 2: this is no UTF-8"),
    ("a.toml", "a = 1\nb =\n", "line 2: Invalid value"),
    ("a.toml", "a = 1\na = 2", "line 2: Cannot overwrite a value"),
    ("a.toml", "a = [1,\n", "line 1: "),
    ("a.toml", "a = " + "[" * 100_000, "too many lists or tables within one another"),
    ("a.toml", "a = " + "[" * 20 + "]" * 20, "too many lists or tables within one another"),
    ("a.toml", "a" + ".a" * 50 + " = 1", "too many lists or tables within one another"),
    ("a.toml", "#\na" + ".a" * 200_000 + " = 1", "line 2: too many lists or tables within one another"),
    ("a.toml", "[" + "'a' . " * 100_000 + "a]", "line 1: too many lists or tables within one another"),
    ("a.toml", "a" * 1_000_000, "line 1: "),
    ("a.toml", "a = " + "9" * 10_000, "a.toml: "),
    ("a.toml", b"#" * (MAX_SIZE + 1), "more than 1048576 bytes"),
    ("a.toml", "[crawl]\n\x00", "line 2: "),
    ("a.toml", "crawl:\n  seeds: a\n", "line 1: "),
    ("a.yaml", b"\xff\xfea\x00", "line 1: this is no UTF-8"),
    ("a.yaml", b"\x00", "a character that YAML does not allow"),
    ("a.yaml", "", "there is nothing in this file"),
    ("a.yaml", "- a", "line 1: a job is made of tables"),
    ("a.yaml", "just text", "line 1: a job is made of tables"),
    ("a.yaml", "a: 1\nb: 2\na: 3", "line 3: 'a' stands here twice"),
    ("a.yaml", "a: &a {b: 1}\nc:\n  <<: *a", "line 3: YAML 1.2 has no merge keys"),
    ("a.yaml", "? [a]\n: 1", "line 1: a key is a text"),
    ("a.yaml", "a: &a [*a]", "too much"),
    ("a.yaml", "a: " + "[" * 100_000, "too many"),
    ("a.yaml", "a: " + "[" * 20 + "]" * 20, "too many lists or tables within one another"),
    ("a.yaml", "a: [1\nb: 2", "line 2: "),
    ("a.yaml", "a: 1\n---\nb: 2", "line 2: "),
    ("a.yaml", BOMB, "with all that aliases"),
    ("a.yaml", b"#" * (MAX_SIZE + 1), "more than 1048576 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files(name: str, content: bytes | str, message: str, tmp_path: Path) -> None:
    """Whatever is in a file, one error names the file and what is wrong."""
    path = written(tmp_path, name, content)
    with pytest.raises(OptionError) as raised:
        read_document(path)
    assert str(path) in str(raised.value)
    assert message in str(raised.value)


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there, or a folder, is said to be."""
    for name in ("none.toml", "none.yaml"):
        with pytest.raises(OptionError, match="No such file"):
            read_document(tmp_path / name)
        (tmp_path / name).mkdir()
        with pytest.raises(OptionError, match="Is a directory"):
            read_document(tmp_path / name)


def test_an_exponent_is_not_made_a_giant(tmp_path: Path) -> None:
    """A number beyond all numbers is infinite, which the schema refuses."""
    assert read_document(written(tmp_path, "a.yaml", "a: 1e999")).values == {"a": float("inf")}
