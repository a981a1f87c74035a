"""What a user may call seeds."""

from __future__ import annotations

import gzip
import subprocess
import sys
import traceback

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import seeds
from sitecrawl.crawl.seeds import read_seeds, seeds_of

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc> http://a.example/1 </loc><lastmod>2024-01-01</lastmod></url>
  <url><loc>http://a.example/?a=1&amp;b=2</loc></url>
  <url><lastmod>2024-01-01</lastmod></url>
</urlset>
"""
FOUND = ["http://a.example/1", "http://a.example/?a=1&b=2"]


def hrefs(text: str) -> list[str]:
    return [url.href for url in read_seeds(text)]


@pytest.fixture
def write(tmp_path):
    """Writes a file of seeds, and says where it is."""

    def write(content: str | bytes, name: str = "seeds.txt") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://a.example", ["https://a.example/"]),
        ("https://a.example/x,http://b.example/y", ["https://a.example/x", "http://b.example/y"]),
        ("  a.example ,\n b.example\tc.example  ", ["http://a.example/", "http://b.example/", "http://c.example/"]),
        ("a.example,,a.example,", ["http://a.example/"]),
        ("a.example:8080/x?y#z", ["http://a.example:8080/x?y"]),
        ("localhost:8000", ["http://localhost:8000/"]),
        ("192.0.2.7", ["http://192.0.2.7/"]),
        ("[::1]:81/x", ["http://[::1]:81/x"]),
        ("bücher.example", ["http://xn--bcher-kva.example/"]),
        ("HTTPS://A.example:443/%7ea/../b", ["https://a.example/b"]),
        ("//a.example/x", ["http://a.example/x"]),
    ],
)
def test_on_the_command_line(text, expected):
    """URLs and bare domains are separated by commas or white space, and each counts once."""
    assert hrefs(text) == expected


@pytest.mark.parametrize("text", ["", "   ", ",", " , ,"])
def test_no_seeds(text):
    """Nothing, or nothing but separators, is an error that shows what to write."""
    with pytest.raises(OptionError, match=r"-a seeds=https://example\.com"):
        read_seeds(text)
    with pytest.raises(OptionError, match="seeds is empty"):
        seeds_of([])


@pytest.mark.parametrize(
    "word", ["ftp://a.example/", "mailto:me@a.example", "word", "http://", "http://a b/", "http:///"]
)
def test_a_word_that_is_no_seed(word):
    """The word that is wrong is named."""
    with pytest.raises(OptionError):
        read_seeds(f"http://good.example,{word}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example/x,y", ["http://a.example/x,y"]),
        ("http://a.example/?ll=48.1,11.5,http://b.org/", ["http://a.example/?ll=48.1,11.5", "http://b.org/"]),
        ("a.org/x,y.html,1,2 b.org", ["http://a.org/x,y.html,1,2", "http://b.org/"]),
        ("http://a.org/,b.org:81,localhost", ["http://a.org/", "http://b.org:81/", "http://localhost/"]),
    ],
)
def test_a_comma_may_stand_in_a_url(text, expected):
    """It does where no seed can begin behind it."""
    assert hrefs(text) == expected


@pytest.mark.parametrize("seed", ["b.org", "b.co.uk/y", "10.0.0.1"])
def test_a_comma_that_may_be_either_is_refused(seed):
    """A path and a name are on either side of it; the error says what to write."""
    with pytest.raises(OptionError, match=r"may be a seed, or belong to 'http://a\.org/x': write http:// before"):
        read_seeds(f"http://a.org/x,{seed}")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "windows-1252", "utf-8-sig", "utf-8"])
def test_a_text_file_of_any_editor(write, encoding):
    """Windows writes UTF-16 with a mark, and windows-1252; others leave the mark out."""
    content = "# Städte\r\nhttp://a.example/köln\r\nhttp://münchen.example/\r\n".encode(encoding)
    assert hrefs(write(content)) == ["http://a.example/k%C3%B6ln", "http://xn--mnchen-3ya.example/"]


@pytest.mark.parametrize("prefix", ["@", ""])
def test_a_text_file(write, prefix):
    """A text file has a URL a line; empty lines and comments do not count, nor does a byte order mark."""
    content = "\ufeff# comment\r\nhttp://a.example/1\r\n\r\n  b.example  \n#http://c.example\nhttp://a.example/a,b\n"
    expected = ["http://a.example/1", "http://b.example/", "http://a.example/a,b"]
    assert hrefs(prefix + write(content)) == expected


@pytest.mark.parametrize("prefix", ["", "\ufeff", "\n "])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_sitemap(write, prefix, pack):
    """A sitemap may be gzipped; its name does not matter."""
    content = pack((prefix + SITEMAP).encode())
    assert hrefs(write(content)) == FOUND
    assert hrefs(f"@{write(content, 'map.xml')}") == FOUND


def test_a_gzipped_text_file(write):
    """A text file may be gzipped, in several members."""
    packed = gzip.compress(b"a.example\n") + gzip.compress(b"b.example\n")
    assert hrefs(write(packed)) == ["http://a.example/", "http://b.example/"]


def test_an_index_of_sitemaps(write):
    """An index names sitemaps and not pages: crawling the XML files is not what was meant."""
    index = SITEMAP.replace("urlset", "sitemapindex").replace("url>", "sitemap>")
    with pytest.raises(OptionError, match="index of sitemaps: give one"):
        read_seeds(write(index))


def test_a_line_that_is_wrong(write):
    """A wrong line is named by file and number, a wrong entry of a sitemap by what it says.

    What stands in a line that is no URL may be a secret: another file may have been meant.
    """
    for wrong in ("ftp://hunter2.example", "AKIA hunter2", "http://joe:hunter2@a.example", "joe@hunter2"):
        with pytest.raises(OptionError, match=r"seeds\.txt, line 3: this is no seed") as raised:
            read_seeds(write(f"http://a.example\n\n{wrong}\n"))
        assert "hunter2" not in "".join(traceback.format_exception(raised.value))
    with pytest.raises(OptionError, match=r"seeds\.txt lists 'no url=1&amp;b=2'"):
        read_seeds(write(SITEMAP.replace("http://a.example/?a", "no url")))


@pytest.mark.parametrize("content", ["", "# nothing\n", "\ufeff\n", "<html><body>http://a.example</body></html>"])
def test_a_file_without_urls(write, content):
    """A file that names nothing is an error, not an empty crawl."""
    with pytest.raises(OptionError, match="There is no URL in the file of seeds"):
        read_seeds(write(content))


@pytest.mark.parametrize(
    "content",
    [
        b"<",
        b"<?xml version='1.0'?>",
        b"<!---->",
        b"<!DOCTYPE a [<!ENTITY b 'bbbbbbbbbb'><!ENTITY c '&b;&b;&b;'>]><urlset><url><loc>&c;</loc></url></urlset>",
        b"<a>" * 100_000,
        bytes(range(256)) * 9,
        b"\x1f\x8b" + bytes(99),
        gzip.compress(b"http://a.example/")[:-12],
        gzip.compress(SITEMAP.encode() * 9)[:60] + bytes(60),
        b"http://a.example/" + b"x" * 1_000_000,
    ],
    ids=range(10),
)
def test_a_broken_file(write, content):
    """Whatever a file holds, what is wrong with it is one line."""
    with pytest.raises(OptionError) as caught:
        read_seeds(write(content))
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_a_torn_sitemap(write):
    """What stands before the place where a sitemap is torn counts."""
    assert hrefs(write(SITEMAP.encode()[:170] + b"\x00\xff\xfe")) == FOUND[:1]


def test_entities_are_not_expanded(write, tmp_path):
    """A sitemap cannot make the crawler read another file."""
    (tmp_path / "secret").write_text("http://secret.example/")
    entity = f'<!DOCTYPE a [<!ENTITY b SYSTEM "file://{tmp_path}/secret">]>'
    with pytest.raises(OptionError):
        read_seeds(write(f"{entity}<urlset><url><loc>&b;</loc></url></urlset>"))


def test_a_file_that_cannot_be_read(tmp_path):
    """A missing file, a folder and a name that no file can have are errors with the name in it."""
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(OptionError, match=rf"file of seeds {path} cannot be read"):
            read_seeds(f"@{path}")
    for name in ("@\0", "@" + "x" * 5_000, "@"):
        with pytest.raises(OptionError):
            read_seeds(name)
    with pytest.raises(OptionError):
        read_seeds("\0")


def test_a_file_that_is_too_large(write, monkeypatch):
    """A file beyond the limit is refused, packed or not; one of just that size is read."""
    monkeypatch.setattr(seeds, "MAX_FILE_SIZE", 20)
    assert hrefs(write(b"http://a.example/12\n")) == ["http://a.example/12"]
    for content in (b"http://a.example/123\n", gzip.compress(b"http://a.example/123\n")):
        with pytest.raises(OptionError, match="more than 20 bytes"):
            read_seeds(write(content))


def test_a_file_without_end(monkeypatch):
    """A device that never ends is read up to the limit."""
    monkeypatch.setattr(seeds, "MAX_FILE_SIZE", 1 << 20)
    with pytest.raises(OptionError, match="more than"):
        read_seeds("@/dev/zero")


def test_a_gzip_bomb(write):
    """A file that unpacks to gigabytes takes no more memory than the largest file that is allowed."""
    packed = gzip.compress(bytes(1 << 26)) * 32
    program = """
import resource, sys
from sitecrawl.crawl import seeds
seeds.MAX_FILE_SIZE = 16 << 20
limit = 1 << 30
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    seeds.read_seeds(sys.argv[1])
except seeds.OptionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program, write(packed)], capture_output=True, text=True, check=True)
    assert "more than 16777216 bytes" in done.stdout


def through_standard_input(content: bytes) -> subprocess.CompletedProcess[str]:
    """The seeds that a process of its own reads there."""
    told = "from sitecrawl.crawl.seeds import read_seeds; print(*(url.href for url in read_seeds('-')))"
    done = subprocess.run([sys.executable, "-c", told], input=content, capture_output=True, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(pack):
    """`-` takes what a file may have: addresses with comments, or a sitemap, gzipped or not."""
    assert through_standard_input(pack(b"a.example\n# no\nhttp://b.example/x\n")).stdout.split() == [
        "http://a.example/",
        "http://b.example/x",
    ]
    assert through_standard_input(pack(SITEMAP.encode())).stdout.split() == FOUND


def test_standard_input_without_urls():
    """It is named, as a file would be."""
    assert "There is no URL in the file of seeds standard input" in through_standard_input(b"# none\n").stderr
