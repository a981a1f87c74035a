"""Pages that repeat others are found, those that only look alike are not."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import random

import pytest
from database_files import database_at, put_away

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.forms.duplicates import FIRST, MAX_CANDIDATES, ContentIndex, Verdict, text_keys
from sitecrawl.page.items import Exchange, PageItem, sha1
from sitecrawl.page.markup import elements
from sitecrawl.page.simhash import simhash

A, B = b"a" * 8, b"b" * 8
WORDS = [f"word{n}" for n in range(5000)]


def article(seed: int, words: int = 1500) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def page(text: str, title: str = "Title", extra: str = "") -> bytes:
    return f"<title>{title}</title>{extra}<body><nav>Home About Contact</nav><p>{text}</p>".encode()


class Crawl:
    """An index on a real database, which can be committed and crashed."""

    def __init__(self, path):
        self.path = path
        self.open()

    def open(self):
        self.database = database_at(self.path, "test")
        self.index = ContentIndex(self.database)

    def see(self, digest: bytes, **how) -> Verdict:
        return self.index.add(A, digest, digest[:16], **how).verdict

    def commit(self):
        batch = self.database.batch()
        self.index.flush(batch)
        self.database.write(batch)
        self.index.flushed()

    def crash(self):
        self.database.close()
        self.open()

    def add(self, body: bytes, title: str = "Title", host: bytes = A) -> Verdict:
        text_hash = simhash(elements(body, 100).text)
        return self.index.add(host, sha1(body), sha1(body)[:16], title=title, text_hash=text_hash).verdict


@pytest.fixture
def crawl(tmp_path):
    crawl = Crawl(tmp_path / "db")
    yield crawl
    put_away(crawl.database)


@pytest.mark.parametrize("host", [A, B])
def test_an_equal_body(crawl, host):
    """The same bytes are found on any host."""
    assert crawl.add(page(article(1))) == Verdict.NEW
    assert crawl.add(page(article(1)), host=host) == Verdict.EQUAL


@pytest.mark.parametrize("commits", [False, True])
def test_a_body_is_repeated_by_other_pages_alone(crawl, commits):
    """A page does not repeat itself, and none a body that nobody has added."""
    body, other = (sha1(page(article(seed))) for seed in (1, 2))
    assert not crawl.index.is_repeated(body, b"first".ljust(16))
    crawl.index.add(A, body, b"first".ljust(16))
    if commits:
        crawl.commit()
    assert not crawl.index.is_repeated(body, b"first".ljust(16))
    assert crawl.index.is_repeated(body, b"second".ljust(16))
    assert not crawl.index.is_repeated(other, b"second".ljust(16))


def test_a_session_id_in_every_link(crawl):
    """A page whose links carry a session id repeats itself."""
    assert crawl.add(page(article(1), extra="<a href='/?sid=1'></a>")) == Verdict.NEW
    assert crawl.add(page(article(1), extra="<a href='/?sid=2'></a>")) == Verdict.NEAR


def test_a_printable_version(crawl):
    """A page without its navigation is the same page."""
    assert crawl.add(page(article(1))) == Verdict.NEW
    printable = f"<title>Title</title><body><p>{article(1)}</p>".encode()
    assert crawl.add(printable) == Verdict.NEAR


def test_another_text_under_the_same_title(crawl):
    """A title alone makes no duplicate."""
    assert crawl.add(page(article(1))) == Verdict.NEW
    assert crawl.add(page(article(2))) == Verdict.NEW


def test_products_of_one_template(crawl):
    """Pages that share all but a few words, and say in their titles that they are two, are two."""
    for number in range(50):
        product = page(f"{article(1)} product{number} 1{number}.99", f"Product {number}")
        assert crawl.add(product, f"Product {number}") == Verdict.NEW


def test_a_near_duplicate_on_another_host(crawl):
    """Nearly the same text on another host is a page of its own."""
    assert crawl.add(page(article(1), extra="<i>")) == Verdict.NEW
    assert crawl.add(page(article(1), extra="<b>"), host=B) == Verdict.NEW


def test_pages_without_text(crawl):
    """Of images and the like only the bytes count."""
    assert crawl.see(sha1(b"image")) == Verdict.NEW
    assert crawl.see(sha1(b"other")) == Verdict.NEW
    assert crawl.see(sha1(b"image")) == Verdict.EQUAL


@pytest.mark.parametrize("restart", [True, False])
def test_checkpoints(crawl, restart):
    """What a checkpoint has stored is found after it, and after a crash."""
    crawl.add(page(article(1), extra="<i>"))
    crawl.commit()
    if restart:
        crawl.crash()
    assert crawl.add(page(article(1), extra="<b>")) == Verdict.NEAR
    assert crawl.add(page(article(1), extra="<i>")) == Verdict.EQUAL


def test_a_crash(crawl):
    """What came after the last checkpoint is forgotten with the pages that it was about."""
    crawl.add(page(article(1)))
    crawl.commit()
    crawl.add(page(article(2)))
    crawl.crash()
    assert crawl.add(page(article(2))) == Verdict.NEW
    assert crawl.add(page(article(1))) == Verdict.EQUAL


def test_three_bits_in_any_places(crawl):
    """Hashes that differ in three bits have a block in common, wherever the bits are."""
    rng = random.Random(0)
    for number in range(100):
        one = rng.getrandbits(64)
        other = one
        for bit in rng.sample(range(64), 3):
            other ^= 1 << bit
        title = str(number)
        assert crawl.see(sha1(b"1" + title.encode()), title=title, text_hash=one) == Verdict.NEW
        assert crawl.see(sha1(b"2" + title.encode()), title=title, text_hash=other) == Verdict.NEAR


def test_a_title_on_many_pages(crawl):
    """However many pages have one title and a block in common, few of them are compared."""
    for number in range(1000):
        crawl.see(sha1(b"%d" % number), title="Same", text_hash=number << 20)
    crawl.commit()
    candidates = list(crawl.index._candidates(key[:-8] for key in text_keys(stem(crawl), 1 << 40)))
    assert 0 < len(candidates) <= 4 * MAX_CANDIDATES


@pytest.mark.parametrize("near", [0, -1])
@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("pages", [1, FIRST, FIRST + 1, 50])
def test_the_pages_of_a_title(crawl, pages, commits, near):
    """A near duplicate is found of a title's first pages and of the others, in the same checkpoint and later."""
    rng = random.Random(pages)
    stored = [rng.getrandbits(64) for _ in range(pages)]
    for number, text_hash in enumerate(stored):
        assert crawl.see(sha1(b"%d" % number), title="Same", text_hash=text_hash) == Verdict.NEW
    if commits:
        crawl.commit()
        crawl.crash()
    assert crawl.see(sha1(b"near"), title="Same", text_hash=stored[near] ^ 1 << 63) == Verdict.NEAR
    assert crawl.see(sha1(b"far"), title="Same", text_hash=~stored[-1] & (1 << 64) - 1) == Verdict.NEW
    assert crawl.see(sha1(b"else"), title="Other", text_hash=stored[-1]) == Verdict.NEW


@pytest.mark.parametrize("body", [b"<p>", b"as transferred"])
def test_the_digest_of_a_page(body):
    """It is that of its body, also where that is not what was transferred."""
    exchange = Exchange("http://a.example/", 0.0, 0.1, 200, [], [], b"as transferred")
    page = PageItem("http://a.example/", 200, 0.0, body=body, exchange=exchange)
    assert page.sha1 == hashlib.sha1(body).digest() == PageItem("http://a.example/", 200, 0.0, body=body).sha1


def test_the_digest_of_a_copy():
    """What is copied, or made of another's fields, has the digest of its own body."""
    exchange = Exchange("http://a.example/", 0.0, 0.1, 200, [], [], b"one")
    assert exchange.sha1 is exchange.sha1
    for made in (copy.copy(exchange), copy.deepcopy(exchange), Exchange(**dataclasses.asdict(exchange))):
        assert (made, made.sha1) == (exchange, exchange.sha1)
    assert dataclasses.replace(exchange, body=b"two").sha1 == sha1(b"two")


def test_a_title_that_is_no_unicode(crawl):
    """A spider may have made it of broken bytes."""
    assert crawl.see(sha1(b"one"), title="\ud800", text_hash=1) == Verdict.NEW
    assert crawl.see(sha1(b"two"), title="\udfff", text_hash=1) == Verdict.NEW
    assert crawl.see(sha1(b"three"), title="\ud800", text_hash=1) == Verdict.NEAR


def test_a_torn_row(crawl):
    """What cannot be read is said, and not taken for something else."""
    crawl.see(sha1(b"one"), title="Same", text_hash=1)
    key = next(key for key in crawl.index._added if key[:1] == b"T")
    batch = crawl.database.batch()
    batch.put("content", key, b"torn")
    crawl.database.write(batch)
    crawl.crash()
    with pytest.raises(CorruptFile):
        crawl.see(sha1(b"two"), title="Same", text_hash=2)


def stem(crawl) -> bytes:
    """What stands before the blocks in the keys."""
    key = next(key for key, _ in crawl.database.scan("content", b"N"))
    return key[:17]


def test_one_checkpoint_of_pages_with_one_title(crawl):
    """The same holds for the pages of the open checkpoint."""
    for number in range(1000):
        crawl.see(sha1(b"%d" % number), title="Same", text_hash=number << 20)
    prefix = next(key for key in crawl.index._added if key[:1] == b"N")[:17]
    found = list(crawl.index._candidates(key[:-8] for key in text_keys(prefix, 1 << 40)))
    assert 0 < len(found) <= 4 * MAX_CANDIDATES
