"""Reading a frontier from outside: its order, its numbers, a crawl at work, damage."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from frontier_helpers import RUDE, Bench, url

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.crawldir.directory import CrawlDirectory
from sitecrawl.frontier import reader as reading
from sitecrawl.frontier.reader import FrontierReader, KnownUrl
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.urls.fingerprint import Fingerprinter

ALL_AT_ONCE = PolitenessOptions(delay_factor=0.0, per_host=1_000_000, per_ip=0)


class Crawl(Bench):
    """A bench in a crawl directory."""

    def __init__(self, directory: Path, order: str = "aopic", politeness: PolitenessOptions = RUDE) -> None:
        self.directory = directory
        fingerprints = Fingerprinter(CrawlDirectory(directory, "generic").manifest.fingerprint_key)
        super().__init__(directory / "db", order, politeness, host_key=fingerprints.host)

    def read(self) -> FrontierReader:
        """A reader of what has been committed, while the crawl is open."""
        return FrontierReader(self.directory)

    def demote(self, name: str, host: str, *, wholly: bool = False) -> None:
        """Hold the section of a URL back, or its whole host."""
        found, section = self.frontier.hosts.named(host), self.section_of(name, host)
        trap = found.trap if wholly else section.trap
        trap.demoted, trap.reason, trap.novelty = True, Reason.GROWS, 20.0
        self.frontier.hosts.changed(found, section)


@pytest.fixture(autouse=True)
def _hash_of_the_bench(monkeypatch):
    monkeypatch.setattr(reading, "HASH_NAME", "test")


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "crawl"


def names(urls) -> list[str]:
    return [one.url.partition(".com/")[2] for one in urls]


class TestImportance:
    @pytest.fixture
    def crawl(self, directory):
        """Two sites, the first with two hosts; `star` is linked to by all, `far` by one."""
        crawl = Crawl(directory, "bfs")
        crawl.add("", host="www.a.com")
        home = crawl.take("")
        crawl.link(home, url("1", "a.com"), url("2", "b.com"), url("star", "b.com"))
        crawl.finish(home)
        for name in ("1", "2"):
            page = crawl.take(name)
            crawl.link(page, url("star", "b.com"), url("far", "b.com"))
            crawl.finish(page)
        crawl.commit()
        return crawl

    def test_top_urls(self, crawl):
        """Those with the most credit come first, fetched or not, with their facts."""
        with crawl.read() as reader:
            top = reader.top_urls(3)
        assert names(top)[0] == "star"
        ledger = crawl.frontier.link_credit.ledger
        star = ledger.importance(crawl.record("star", "b.com"))
        assert top[0] == KnownUrl(star, 1, 0, "queued", "http://b.com/star")
        assert {one[1:] for one in top[1:]} == {
            (1, 200, "fetched", "http://a.com/1"),
            (1, 200, "fetched", "http://b.com/2"),
        }

    def test_all_importance_is_one(self, crawl):
        """Importance is a share of what all URLs have."""
        with crawl.read() as reader:
            assert sum(one.importance for one in reader.top_urls(100)) == pytest.approx(1)

    def test_top_sites(self, crawl):
        """Hosts of one registrable domain are one site, which has what its URLs have together."""
        with crawl.read() as reader:
            sites, urls = reader.top_sites(10), reader.top_urls(100)
            assert reader.top_sites(1) == sites[:1]
        b = sum(one.importance for one in urls if "/b.com/" in one.url)
        assert [one[1:] for one in sites] == [(1, 3, "b.com"), (2, 2, "a.com")]
        assert [one.importance for one in sites] == pytest.approx([b, 1 - b])

    def test_equals_by_depth(self, directory):
        """Before any credit has flowed, what is near to a seed comes first."""
        crawl = Crawl(directory)
        crawl.add("deep", depth=3, host="a.com")
        crawl.add("near", depth=1, host="a.com")
        crawl.commit()
        with crawl.read() as reader:
            assert [(one.importance, one.depth) for one in reader.top_urls(2)] == [(0, 1), (0, 3)]

    def test_memory(self, directory):
        """The best few of 5,000 URLs take the memory of a few."""
        crawl = Crawl(directory)
        crawl.add(*(f"{n}/x" for n in range(5_000)))
        crawl.commit()
        with crawl.read() as reader:
            tracemalloc.start()
            reader.top_urls(10)
            reader.top_sites(10)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < 1 << 19


class TestOrder:
    @pytest.mark.parametrize("order", ["aopic", "best", "bfs", "dfs"])
    def test_as_the_frontier_hands_them_out(self, directory, order):
        """The list is what the frontier would fetch, over sections, ranks and heads of queues; but in `aopic` others
        than the order by worth pick in between.
        """
        crawl = Crawl(directory, order, ALL_AT_ONCE)
        crawl.add("home", host="a.com")
        home = crawl.take("home")
        kinds = ("x/{}", "y/z/{}", "{}.html", "?q={}")
        found = [url(kinds[n % 4].format(n), "a.com", nofollow=n % 3 == 0, score=n * 7 % 5) for n in range(100)]
        crawl.link(home, *found[:60])
        crawl.finish(home)
        page = crawl.frontier.next()
        assert page is not None
        crawl.link(page, *found[40:])
        crawl.finish(page, good=False)
        crawl.restart()
        with crawl.read() as reader:
            listed = [one.url for one in reader.waiting()]
        handed = []
        while (visit := crawl.frontier.next()) is not None:
            handed.append(visit.url)
        assert len(listed) == 99
        assert sorted(listed) == sorted(handed)
        assert listed == handed or order == "aopic"

    def test_what_is_held_back_comes_last(self, directory):
        """However much credit it has, and whether its section or its whole host is demoted."""
        crawl = Crawl(directory)
        crawl.add("x/1", "x/2", "good", host="a.com")
        crawl.add("y/1", "z", host="b.com")
        crawl.demote("x/1", "a.com")
        crawl.demote("y/1", "b.com", wholly=True)
        crawl.commit()
        with crawl.read() as reader:
            assert names(reader.waiting())[:1] == ["good"]
            assert sorted(names(reader.waiting(demoted=True))) == ["x/1", "x/2", "y/1", "z"]
            assert names(reader.waiting("a.com", demoted=True)) == ["x/1", "x/2"]
            assert sorted(names(reader.waiting("b.com"))) == ["y/1", "z"]

    def test_what_is_in_flight_waits(self, directory):
        """A URL in flight is not done: a crash would bring it back."""
        crawl = Crawl(directory)
        crawl.add("1", "2", host="a.com")
        crawl.take("1")
        crawl.commit()
        with crawl.read() as reader:
            assert names(reader.waiting()) == ["1", "2"]


class TestUnits:
    @pytest.fixture
    def crawl(self, directory):
        """`a.com` with a demoted section, `b.com` demoted as a whole, `c.com` with nothing left to do."""
        crawl = Crawl(directory)
        crawl.add("", host="c.com")
        home = crawl.take("")
        crawl.link(home, *(url(f"x/{n}", "a.com") for n in range(1, 4)), *(url(f"z{n}", "b.com") for n in range(3)))
        crawl.finish(home)
        for good in (True, False):
            visit = crawl.frontier.next()
            assert visit is not None
            crawl.finish(visit, good=good)
        crawl.demote("x/1", "a.com")
        crawl.demote("z1", "b.com", wholly=True)
        crawl.restart()
        return crawl

    def test_hosts_and_their_sections(self, crawl):
        """Each host with work is followed by its sections; what is demoted says why."""
        with crawl.read() as reader:
            units = list(reader.units())
        assert {(u.host, u.shape) for u in units} >= {("b.com", ""), ("b.com", "/*")}
        assert all(u.waiting and u.host != "c.com" for u in units)
        assert all(bool(u.reason) == u.demoted for u in units)

    def test_numbers(self, crawl):
        """The numbers are those of the section; a host's good pages are those of its sections."""
        with crawl.read() as reader:
            host, *sections = reader.units("a.com")
        stored = crawl.section_of("x/1", "a.com")
        section = next(u for u in sections if u.shape == "/x/*")
        assert section[2:7] == (
            stored.queued, stored.known, stored.fetched, stored.good, stored.trap.novelty,
        )  # fmt: skip
        assert (host.shape, host.known, host.good) == ("", 3, sum(u.good for u in sections))

    def test_demoted(self, crawl):
        """A host that is demoted stands for its sections: the sum is what is held back."""
        with crawl.read() as reader:
            units = list(reader.units(demoted=True))
        assert [(u.host, u.shape) for u in units if u.host == "b.com"] == [("b.com", "")]
        assert sum(u.waiting for u in units) == crawl.frontier.judge.held()
        assert "20.0 new ones" in units[0].reason

    def test_a_host_with_nothing_to_do(self, crawl):
        """Asked for by name, it is shown."""
        with crawl.read() as reader:
            assert [(u.host, u.shape, u.waiting) for u in reader.units("c.com")] == [
                ("c.com", "", 0), ("c.com", "/", 0),
            ]  # fmt: skip

    @pytest.mark.parametrize("name", ["a.com", "A.com", "a.com:80", "http://a.com/x", "https://a.com"])
    def test_spellings(self, crawl, name):
        """A host may be written as people write it."""
        with crawl.read() as reader:
            assert next(reader.units(name)).host == "a.com"

    @pytest.mark.parametrize("name", ["w.c.com", "http://v.c.com/x", "*.c.com"])
    def test_a_name_without_a_record(self, crawl, monkeypatch, name):
        """A host whose URLs are in its site's pool leads to the pool."""
        monkeypatch.setattr("sitecrawl.frontier.urls.sites.UNPROVEN", 1)
        for host in ("u.c.com", "v.c.com", "w.c.com"):
            crawl.add("1", host=host, depth=1)
        crawl.commit()
        with crawl.read() as reader:
            assert next((unit.host, unit.waiting) for unit in reader.units(name)) == ("*.c.com", 2)

    @pytest.mark.parametrize("name", ["", "nowhere.com", "a.com:81", "a b", "\x1b[2J", "\udcff", "://", "x" * 10_000])
    def test_an_unknown_host(self, crawl, name):
        """A host that the crawl does not know is an error in one short line."""
        with crawl.read() as reader, pytest.raises(StorageError, match="knows no host") as caught:
            list(reader.units(name))
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500


class TestLive:
    def test_a_snapshot(self, directory):
        """A reader sees the checkpoint before its opening, and the next reader the next."""
        crawl = Crawl(directory)
        crawl.add("1", host="a.com")
        crawl.commit()
        with crawl.read() as reader:
            crawl.add("2", host="a.com")
            crawl.commit()
            assert names(reader.waiting()) == ["1"]
        with crawl.read() as reader:
            assert names(reader.waiting()) == ["1", "2"]

    def test_files_that_the_crawl_merges_meanwhile(self, directory):
        """A reader goes on although the crawl has replaced every file that it reads."""
        crawl = Crawl(directory)
        for turn in range(3):
            crawl.add(*(f"{turn}-{n}" for n in range(20)), host=f"{turn}.com")
            crawl.reopen()
        before = set(crawl.path.glob("*.sst"))
        with crawl.read() as reader:
            for turn in range(3, 9):
                crawl.add(*(f"{turn}-{n}" for n in range(20)), host=f"{turn}.com")
                crawl.reopen()
            assert before - set(crawl.path.glob("*.sst"))
            assert len(list(reader.waiting())) == len(reader.top_urls(1000)) == 60

    def test_it_writes_nothing(self, directory):
        """Reading leaves the tables as they were."""
        crawl = Crawl(directory)
        crawl.add("1", host="a.com")
        crawl.commit()
        crawl.database.close()
        before = {file.name: file.read_bytes() for file in crawl.path.iterdir() if not file.name.startswith("LOG")}
        with crawl.read() as reader:
            list(reader.units())
        after = {file.name: file.read_bytes() for file in crawl.path.iterdir() if not file.name.startswith("LOG")}
        assert after == before

    def test_before_the_first_checkpoint(self, directory):
        """A crawl that has just begun has nothing to show."""
        crawl = Crawl(directory)
        with crawl.read() as reader:
            assert (reader.top_urls(5), reader.top_sites(5), list(reader.units()), list(reader.waiting())) == (
                [], [], [], [],
            )  # fmt: skip


class TestDamage:
    def test_no_crawl(self, tmp_path):
        """A directory without a manifest is no crawl, and is not made one."""
        with pytest.raises(StorageError, match=r"holds no crawl: it has no crawl\.json"):
            FrontierReader(tmp_path / "nothing")
        assert not (tmp_path / "nothing").exists()

    def test_no_database(self, directory):
        """A manifest alone is an error with the database's path."""
        CrawlDirectory(directory, "generic")
        with pytest.raises(StorageError, match="db"):
            FrontierReader(directory)

    def test_another_format(self, directory):
        """What another version wrote is refused."""
        Crawl(directory).database.close()
        (directory / "crawl.json").write_text('{"magic": "sitecrawl crawl", "format": 99}')
        with pytest.raises(FormatMismatch, match="format 99"):
            FrontierReader(directory)

    @pytest.mark.parametrize("key", [b"counts", b"ledger"])
    def test_damaged_totals(self, directory, key):
        """Totals of the wrong length are a corrupt file, and leave nothing open."""
        crawl = Crawl(directory)
        crawl.add("1", host="a.com")
        crawl.commit()
        self.put(crawl, "meta", key, b"short")
        with pytest.raises(CorruptFile):
            crawl.read()

    @pytest.mark.parametrize("family", ["hosts", "sections", "urls"])
    def test_damaged_records(self, directory, family):
        """A record that cannot be read is never skipped."""
        crawl = Crawl(directory)
        crawl.add("1", host="a.com")
        crawl.commit()
        key, _ = next(crawl.database.scan(family))
        self.put(crawl, family, key, b"short")
        with crawl.read() as reader, pytest.raises(CorruptFile):
            list(reader.waiting())

    @pytest.mark.parametrize("family", ["hosts", "urls"])
    def test_missing_records(self, directory, family):
        """Something that waits and has no record, or no host, is a corrupt file."""
        crawl = Crawl(directory)
        crawl.add("1", host="a.com")
        crawl.commit()
        key = url("1", "a.com").key if family == "urls" else crawl.host_key("a.com")
        batch = crawl.database.batch()
        batch.delete(family, key)
        crawl.database.write(batch)
        with crawl.read() as reader, pytest.raises(CorruptFile, match="missing"):
            list(reader.waiting()) if family == "urls" else reader.top_sites(1)

    @staticmethod
    def put(crawl: Crawl, family: str, key: bytes, value: bytes) -> None:
        batch = crawl.database.batch()
        batch.put(family, key, value)
        crawl.database.write(batch)
