"""Where in a TOML file things stand."""

import tomllib
from typing import Any

import pytest

from sitecrawl.base.schemas import Place
from sitecrawl.plugins.jobs.toml_lines import lines_of

TEXT = '''\
# a comment with = and [brackets]
top = 1
"quoted \\u0041 key" = 'a # b'
dotted . "key.with.dots" = """
several
lines = 5 \\""" here
""" # after
[crawl] # [not.this]
seeds = [ # one
  "https://a.example/",

  "https://b.example/]", # two, three
  [1, 2, [3,
    4]],
]
inline = { a = 1, b = { c = [
  1, 2 ] }, "d" = \'\'\'x
y\'\'\'\'\' }
[[sheets]]
hosts = ["a.example"]
[sheets.headers]
X = 2026-11-23T10:00:00Z
[[sheets]]
delay = 0x1f
[[sheets.inner]]
deep = true
[[sheets.inner]]
deep = false
[a.b]
c.d = 1e5
'''

EXPECTED: dict[Place, int] = {
    ("top",): 2,
    ("quoted A key",): 3,
    ("dotted", "key.with.dots"): 4,
    ("crawl",): 8,
    ("crawl", "seeds"): 9,
    ("crawl", "seeds", 0): 10,
    ("crawl", "seeds", 1): 12,
    ("crawl", "seeds", 2): 13,
    ("crawl", "seeds", 2, 2, 1): 14,
    ("crawl", "inline", "a"): 16,
    ("crawl", "inline", "b", "c", 1): 17,
    ("crawl", "inline", "d"): 17,
    ("sheets",): 19,
    ("sheets", 0, "hosts"): 20,
    ("sheets", 0, "headers", "X"): 22,
    ("sheets", 1): 23,
    ("sheets", 1, "delay"): 24,
    ("sheets", 1, "inner", 0, "deep"): 26,
    ("sheets", 1, "inner", 1, "deep"): 28,
    ("a",): 29,
    ("a", "b", "c", "d"): 30,
}


def places(value: Any, place: Place = ()) -> set[Place]:
    """All places in a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {place} | {found for key, one in pairs for found in places(one, (*place, key))}


def test_each_part_has_its_line() -> None:
    """Keys, items and tables, however they are written, stand where they begin."""
    lines = lines_of(TEXT)
    assert {place: lines.get(place) for place in EXPECTED} == EXPECTED


def test_no_part_is_without_a_line() -> None:
    """What tomllib finds in a text is what has lines, no more and no less."""
    assert set(lines_of(TEXT)) | {()} == places(tomllib.loads(TEXT))


@pytest.mark.parametrize("text", ["", "\n\n# only this", "a=1", "[a]", "a = []\r\nb = {}\r\n", 'a = ""\nb = """"""'])
def test_small_texts(text: str) -> None:
    """Nothing, a comment, and values that are empty."""
    text = text.replace("\r\n", "\n")
    assert set(lines_of(text)) | {()} == places(tomllib.loads(text))
