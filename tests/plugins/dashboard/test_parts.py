"""The dashboard's parts by themselves: who is admitted, who reads, what is drawn from, what Prometheus is told."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sitecrawl.base.errors import OptionError
from sitecrawl.crawldir.history import History
from sitecrawl.frontier.seen.figures import SeenFigures
from sitecrawl.plugins.dashboard.figures import BUCKETS, COLUMNS, Figures, Meter, Worker, worker_of
from sitecrawl.plugins.dashboard.guard import HEADERS, Guard, place_of, token_of
from sitecrawl.plugins.dashboard.metrics import exposition
from sitecrawl.plugins.dashboard.monitor import CHARTED, charted
from sitecrawl.plugins.dashboard.rows import NO_ROWS, joined
from sitecrawl.plugins.dashboard.web import Backend

TOKEN = "0123456789abcdefSECRET"
OURS = {"Host": "127.0.0.1:8000"}
SEEN = dict.fromkeys(SeenFigures().counts(), 3)


def figures(**more: Any) -> Figures:
    numbers: dict[str, Any] = dict.fromkeys(
        ("at", "seconds", "fetched", "failed", "excluded", "requisites", "waiting", "in_flight", "known", "rate",
         "byte_rate", "received", "errors", "duplicates", "lost", "good", "p50", "p95", "hosts", "active", "demoted",
         "silent", "reserve", "checkpoint_age", "checkpoints", "memory", "cpu", "database"), 7,
    )  # fmt: skip
    return Figures(**{**numbers, "seen": SEEN, **more})


class TestGuard:
    guard = Guard(TOKEN, 8000)

    def admit(self, path: str = f"/{TOKEN}/hosts", method: str = "GET", **headers: str) -> str | None:
        sent = {**OURS, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.guard.admit(method, path, lambda name: sent.get(name, ""))

    def test_the_token_opens(self) -> None:
        """In the path, or in a header, for programs."""
        assert self.admit() == "hosts"
        assert self.admit(f"/{TOKEN}/") == ""
        assert self.admit("/metrics", Authorization=f"Bearer {TOKEN}") == "metrics"

    def test_the_usual_port(self) -> None:
        """A browser does not name port 80 in `Host` and `Origin`."""
        ours = {"Host": "localhost", "Origin": "http://localhost"}
        assert Guard(TOKEN, 80).admit("GET", f"/{TOKEN}/hosts", lambda name: ours.get(name, "")) == "hosts"
        assert self.guard.admit("GET", f"/{TOKEN}/hosts", lambda name: ours.get(name, "")) is None

    @pytest.mark.parametrize(
        "path",
        [
            "/",
            "",
            "//",
            "/hosts",
            f"/{TOKEN}",
            f"/{TOKEN}x/hosts",
            f"/{TOKEN[:-1]}/hosts",
            f"/x/{TOKEN}/hosts",
            "/\xff/",
        ],
    )
    def test_without_the_token(self, path: str) -> None:
        """Nothing but the whole token, at its place, opens anything."""
        assert self.admit(path) is None

    def test_a_wrong_bearer(self) -> None:
        """The path does not help out."""
        assert self.admit(Authorization="Bearer wrong") is None

    @pytest.mark.parametrize(
        "host", ["evil.example:8000", "127.0.0.1", "127.0.0.1:80", "", "127.0.0.1:8000.evil.example"]
    )
    def test_dns_rebinding(self, host: str) -> None:
        """A name of somebody else that leads here gets nothing, though it knew the token."""
        assert self.admit(Host=host) is None

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:8001"]
    )
    def test_another_origin(self, origin: str) -> None:
        """Not to read, and not to act."""
        assert self.admit(Origin=origin) is None
        assert self.admit(method="POST", Origin=origin, Content_Type="application/json") is None

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "none, same-origin"])
    def test_another_site(self, site: str) -> None:
        """The browser says who asks, and no page can make it lie."""
        assert self.admit(Sec_Fetch_Site=site) is None

    def test_actions(self) -> None:
        """Only JSON: a form of another origin cannot send it. Typed into the address bar, nothing is done."""
        assert self.admit(method="POST", Content_Type="application/json; charset=utf-8") == "hosts"
        assert self.admit(method="POST", Content_Type="text/plain") is None
        assert self.admit(method="POST") is None
        assert self.admit(method="POST", Content_Type="application/json", Sec_Fetch_Site="none") is None

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
    def test_other_methods(self, method: str) -> None:
        """Nor is a preflight request answered."""
        assert self.admit(method=method) is None

    def test_headers(self) -> None:
        """Scripts from here alone, no frames, and nothing for other origins."""
        policy = HEADERS["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not any(name.lower().startswith("access-control") for name in HEADERS)

    def test_tokens(self) -> None:
        """A new one each time, unless one is given that cannot be guessed."""
        assert token_of("") != token_of("")
        assert len(token_of("")) >= 32
        assert token_of(TOKEN) == TOKEN
        for wrong in ("short", "with/slash/and/more", "sixteen characters "):
            with pytest.raises(OptionError):
                token_of(wrong)

    def test_addresses(self) -> None:
        """This machine's own need nothing; what others reach needs a token that somebody has chosen."""
        for one in ("127.0.0.1", "127.0.0.7", "::1"):
            assert place_of(one, "") == (one, 0)
        assert place_of("0.0.0.0", TOKEN) == ("0.0.0.0", 0)
        assert place_of("127.0.0.1:8123", "") == ("127.0.0.1", 8123)
        assert place_of("[::1]:8123", "") == ("::1", 8123)
        assert [place_of(one, "")[1] for one in (False, "False", "0", True, "1")] == [None, None, None, 0, 0]
        for setting, token in (
            ("0.0.0.0", ""),
            ("::", ""),
            ("192.0.2.1", ""),
            ("worker", TOKEN),
            ("[::1]", TOKEN),
            ("127.0.0.1:65536", ""),
        ):
            with pytest.raises(OptionError, match="SITECRAWL_DASHBOARD"):
                place_of(setting, token)

    @pytest.mark.parametrize(
        ("host", "is_ours"),
        [
            ("192.0.2.7:8000", True),
            ("[2001:db8::1]:8000", True),
            ("localhost:8000", True),
            ("127.0.0.1:8000", True),
            ("192.0.2.7", False),
            ("192.0.2.7:80", False),
            ("2001:db8::1:8000", False),
            ("worker:8000", False),
            ("192.0.2.7.evil.example:8000", False),
            ("[192.0.2.7]:8000", False),
            ("", False),
            (":8000", False),
        ],
    )
    def test_where_others_reach_it(self, host: str, is_ours: bool) -> None:
        """An address is nobody's but its owner's; a name could be made to lead here by anybody."""
        sent = {"Host": host, "Origin": f"http://{host}"}
        admitted = Guard(TOKEN, 8000, "0.0.0.0").admit("GET", f"/{TOKEN}/hosts", lambda name: sent.get(name, ""))
        assert (admitted == "hosts") == is_ours
        sent["Origin"] = "http://192.0.2.8:8000"
        assert Guard(TOKEN, 8000, "0.0.0.0").admit("GET", f"/{TOKEN}/hosts", lambda name: sent.get(name, "")) is None

    def test_addresses_of_this_machine_are_closed(self) -> None:
        """Others that lead to it are not answered to, though no name could be made to be one of them."""
        sent = {"Host": "192.0.2.7:8000"}
        for address in ("127.0.0.1", "127.0.0.7", "::1"):
            guard = Guard(TOKEN, 8000, address)
            assert guard.admit("GET", f"/{TOKEN}/hosts", lambda name: sent.get(name, "")) is None
        own = {"Host": "[::1]:8000"}
        assert Guard(TOKEN, 8000, "::1").admit("GET", f"/{TOKEN}/hosts", lambda name: own.get(name, "")) == "hosts"


class TestFigures:
    def test_points(self) -> None:
        """Totals of this run go on from those of the runs before."""
        f = figures(statuses={200: 5, 204: 1, 301: 2, 404: 3, 500: 4}, received=100)
        point = f.point({"ok": 10.0, "received": 1000.0, "fetched": 99.0})
        assert set(point) == set(COLUMNS)
        assert (point["ok"], point["redirects"], point["refused"], point["broken"]) == (16, 2, 3, 4)
        assert (point["received"], point["fetched"]) == (1100, 7)

    def test_json(self) -> None:
        """No figure needs more than JSON."""
        assert json.loads(json.dumps(asdict(figures()), allow_nan=False))["seen"] == SEEN


def worker(place: str, state: str) -> Worker:
    """As the page shows it."""
    told = worker_of({"place": place, "name": "n", "spider": "generic"}, state, figures(), 3, last="", rows=NO_ROWS)
    return {**told, "id": f"session of {place}", "age": 0.0}


class TestMetrics:
    def families(self, spider: str = "generic") -> dict[str, Any]:
        meter = Meter()
        meter.histogram[0], meter.histogram[-1], meter.seconds = 5, 2, 90.5
        f = figures(
            statuses={200: 5, 404: 3},
            failures={"timed out": 2},
            sitemaps={"found/usual": 4},
            rendering={"gained": 7},
            browser={"shown": 2, "waiting": 5, "memory": 300 << 20},
        )
        text = exposition(f, meter, paused=True, wants={"names": 31.5, "files": 0.0}, spider=spider)
        return {family.name: family for family in text_string_to_metric_families(text)}

    def test_prometheus_reads_it(self) -> None:
        """Its own parser finds every metric, with help, type and unit."""
        found = self.families()
        assert len(found) >= 20
        assert all(family.documentation and family.name.startswith("sitecrawl_") for family in found.values())
        responses = {s.labels["status"]: s.value for s in found["sitecrawl_responses"].samples}
        assert (found["sitecrawl_responses"].type, responses) == ("counter", {"200": 5.0, "404": 3.0})
        assert [s.value for s in found["sitecrawl_paused"].samples] == [1.0]
        (gained,) = found["sitecrawl_rendering_events"].samples
        assert (gained.labels["event"], gained.value) == ("gained", 7.0)
        pages = {s.labels["state"]: s.value for s in found["sitecrawl_browser_pages"].samples}
        assert pages == {"shown": 2, "waiting": 5}
        assert [s.value for s in found["sitecrawl_browser_memory_bytes"].samples] == [300 << 20]

    def test_what_is_lacking(self) -> None:
        """For how long the crawl has paused by itself, by what it lacks, which is nothing of the others."""
        samples = self.families()["sitecrawl_want_seconds"].samples
        assert {s.labels["want"]: s.value for s in samples} == {"names": 31.5, "files": 0.0}

    def test_names(self) -> None:
        """Counters end in _total, and units are base units."""
        for name, family in self.families().items():
            if family.type == "counter":
                assert all(sample.name.endswith("_total") for sample in family.samples), name
            assert not name.endswith(("_ms", "_mb", "_kb", "_percent"))

    def test_histogram(self) -> None:
        """Classes add up, and the last has all."""
        found = self.families()["sitecrawl_download_seconds"]
        buckets = [s for s in found.samples if s.name.endswith("_bucket")]
        assert len(buckets) == len(BUCKETS) + 1
        assert [buckets[0].value, buckets[-1].labels["le"], buckets[-1].value] == [5.0, "+Inf", 7.0]
        assert {s.name[-5:]: s.value for s in found.samples if not s.name.endswith("_bucket")} == {
            "count": 7.0,
            "s_sum": 90.5,
        }

    def test_workers(self) -> None:
        """Each worker of a cluster has its own, whatever it is called; the counts of the crawl are there once."""
        workers = [worker("a", "running"), worker('b"} 1\nevil{x="', "lost")]
        text = exposition(figures(), Meter(), paused=False, wants={}, spider="generic", workers=workers)
        found = {family.name: family for family in text_string_to_metric_families(text)}
        up = {s.labels["worker"]: s.value for s in found["sitecrawl_worker_up"].samples}
        assert up == {"a": 1.0, 'b"} 1\nevil{x="': 0.0}
        assert [s.value for s in found["sitecrawl_worker_fetched"].samples] == [7.0, 7.0]
        assert [s.value for s in found["sitecrawl_worker_partitions"].samples] == [3.0, 3.0]
        assert len(found["sitecrawl_urls"].samples) == 6
        assert not [name for name in self.families() if name.startswith("sitecrawl_worker")]

    def test_a_hostile_name(self) -> None:
        """Quotes, backslashes and line ends stay in the label."""
        name = 'a"} 1\nevil{x="\\'
        (sample,) = self.families(name)["sitecrawl_paused"].samples
        assert sample.labels == {"spider": name}


class TestRows:
    def test_of_several_workers(self) -> None:
        """The rows with the most waiting, each once; kinds of error are added up."""
        one = {"hosts": [{"host": "a", "waiting": 2}, {"host": "b", "waiting": 1}], "held": [],
               "errors": [{"kind": "404", "count": 2, "examples": [{"url": "x"}]}]}  # fmt: skip
        two = {"hosts": [{"host": "c", "waiting": 3}, {"host": "b", "waiting": 1}], "held": [],
               "errors": [{"kind": "404", "count": 3, "examples": [{"url": "y"}]}]}  # fmt: skip
        found = joined([one, two])
        assert [row["host"] for row in found["hosts"]] == ["c", "a", "b"]
        assert found["errors"] == [{"kind": "404", "count": 5, "examples": [{"url": "x"}, {"url": "y"}]}]


def test_who_asks_while_the_crawl_ends() -> None:
    """Hears how it ended for all, though it had not ended when he asked."""
    found: list[str] = []

    class Ending:
        """A monitor of a crawl that ends while its page hears of the others."""

        ending, asked_at, last = "", 0.0, "running"

        async def refresh(self) -> None:
            self.ending = "finished"

        def is_watched(self) -> bool:
            return True

        def overview(self) -> dict[str, str]:
            found.append(self.last)
            return {}

    async def story() -> None:
        monitor: Any = Ending()
        backend = Backend(monitor, cast(Any, None))
        asking = asyncio.create_task(backend.get("overview"))
        await asyncio.sleep(0)
        assert not found
        monitor.last = "ended"  # the last word of the others
        await backend.last_look()
        assert (await asking).status == 200
        assert found == ["ended"]

    asyncio.run(story())


class TestDocumented:
    def test_every_metric(self) -> None:
        """docs/dashboard.md names exactly the metrics there are."""
        text = (Path(__file__).parents[3] / "docs" / "dashboard.md").read_text(encoding="utf-8")
        named = set(re.findall(r"`(sitecrawl_\w+)`", text))
        workers = [worker("a", "running")]
        told = exposition(figures(), Meter(), paused=False, wants={"names": 0.0}, spider="x", workers=workers)
        assert named == set(re.findall(r"^# TYPE (\w+) ", told, re.MULTILINE))


@pytest.mark.parametrize("points", [0, 1, 5, 120, 121, 1000])
def test_as_much_of_the_history_as_a_line_can_show(points: int) -> None:
    """Evenly, and the newest point always."""
    history = History(CHARTED[1:])
    for at in range(points):
        history.add(float(at), {"fetched": 2 * at, "waiting": points - at})
    shown = charted(history)
    assert list(shown) == list(CHARTED)
    assert len(shown["t"]) <= 121
    assert shown["t"][-1:] == [float(points - 1)][:points]
    assert shown["fetched"] == [2 * at for at in shown["t"] if at is not None]
