"""A letter on its way to receivers of all kinds: at most a few attempts, each in order, none without end."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from http_clients import client, serving
from localweb import Answer, LocalWeb
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from waiting import until_async

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.configuration import revealed
from sitecrawl.http import Endpoint, Verify
from sitecrawl.plugins.webhooks.courier import (
    _DROPPED,
    _MAX_WAITING,
    _NEWS,
    _SENT,
    FAILED,
    Courier,
    Event,
    Letter,
    read_hooks,
)

SECRET = "between us"
read = partial(read_hooks, reveal=partial(revealed, name="SITECRAWL_WEBHOOKS"))


def letter(event: Event = Event.END, **fields: Any) -> Letter:
    return Letter(event, 1_700_000_000.25, {"text": "The crawl x ends.", **fields})


def hook(url: str, **fields: Any) -> Any:
    return read_hooks([{"url": url, **fields}], str)[0]


def bring(
    url: str, *letters: Letter, verify: Verify = Verify.OFF, seconds: float = 20, **hook_fields: Any
) -> Counter[str]:
    """Put the letters, wait until nothing is under way; what was counted."""
    counted: Counter[str] = Counter()

    async def run() -> None:
        with client(verify=verify) as ours:
            courier = Courier(
                hook(url, **hook_fields),
                ours,
                lambda name: counted.update([name]),
                pauses=(0.01, 0.02),
                seconds=seconds,
            )
            for one in letters:
                courier.put(one)
            await until_async(lambda: courier._task is None or courier._task.done(), "the courier's end")

    asyncio.run(run())
    return counted


@pytest.fixture
def answers() -> list[Answer]:
    """One for each request, the last of them for all that follow."""
    return [Answer(b"ok")]


@pytest.fixture
def receiver(answers: list[Answer]) -> Iterator[LocalWeb]:
    following = (one for one in chain(answers, repeat(None)))
    with LocalWeb(lambda path, host: next(following) or answers[-1]) as served:
        yield served


class TestDelivery:
    def test_what_is_sent(self, receiver: LocalWeb) -> None:
        """One POST of a JSON object with schema, id, event, time and what there is to tell."""
        one = letter(reason="finished")
        assert bring(f"{receiver.root}/hook?a=b", one) == {_SENT: 1}
        (hit,) = receiver.hits
        assert (hit.method, hit.path) == ("POST", "/hook?a=b")
        assert hit.headers["Content-Type"] == "application/json"
        assert hit.headers["webhook-id"] == one.id
        assert "webhook-signature" not in hit.headers
        told = json.loads(hit.body)
        assert told["time"] == "2023-11-14T22:13:20.250Z"
        assert (told["schema"], told["id"], told["event"], told["reason"]) == (1, one.id, "end", "finished")

    @pytest.mark.parametrize("secret", [SECRET, "whsec_YmV0d2VlbiB1cw=="])
    def test_the_signature(self, receiver: LocalWeb, secret: str) -> None:
        """A library of the standard takes what was sent, and nothing changed or signed otherwise."""
        bring(receiver.root, letter(), secret=secret)
        (hit,) = receiver.hits
        headers = dict(hit.headers.items())
        assert Webhook(SECRET.encode()).verify(hit.body, headers)["event"] == "end"
        for key, body in ((b"another", hit.body), (SECRET.encode(), hit.body + b" ")):
            with pytest.raises(WebhookVerificationError):
                Webhook(key).verify(body, headers)

    def test_what_nobody_wants(self, receiver: LocalWeb) -> None:
        """A webhook hears of what it has named, and of nothing else."""
        sent = bring(receiver.root, letter(), letter(Event.STALL), letter(Event.HEARTBEAT), events=["stall"])
        assert sent == {_SENT: 1}
        assert [json.loads(hit.body)["event"] for hit in receiver.hits] == ["stall"]

    def test_in_order(self, receiver: LocalWeb) -> None:
        """An end does not come before its start."""
        bring(receiver.root, *(letter(number=n) for n in range(20)))
        assert [json.loads(hit.body)["number"] for hit in receiver.hits] == [*range(20)]

    def test_too_many(self, receiver: LocalWeb) -> None:
        """What waits is bounded: the oldest go, and are counted."""
        counted = bring(receiver.root, *(letter(number=n) for n in range(_MAX_WAITING + 5)))
        assert counted == {_DROPPED: 5, _SENT: _MAX_WAITING}
        assert json.loads(receiver.hits[0].body)["number"] == 5

    def test_one_heartbeat_at_a_time(self, receiver: LocalWeb) -> None:
        """Of those that wait only one is of use."""
        beats = (letter(Event.HEARTBEAT) for _ in range(9))
        assert bring(receiver.root, *beats, events=["heartbeat"]) == {_SENT: 1}


class TestReceiversThatFail:
    @pytest.mark.parametrize("answers", [[Answer(status=500), Answer(status=429), Answer(b"ok")]])
    def test_it_recovers(self, receiver: LocalWeb) -> None:
        """After an error that may pass it is told again, of the same, with the same id."""
        assert bring(receiver.root, letter()) == {_SENT: 1}
        assert len(receiver.hits) == 3
        assert len({hit.body for hit in receiver.hits}) == 1

    @pytest.mark.parametrize("answers", [[Answer(status=503)]])
    def test_it_does_not(self, receiver: LocalWeb, caplog: pytest.LogCaptureFixture) -> None:
        """Some attempts, one line in the log for however many letters, and none of its path."""
        assert bring(f"{receiver.root}/hidden", letter(), letter(Event.STALL)) == {FAILED: 2}
        assert len(receiver.hits) == 6
        (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert "it answers 503" in line
        assert "hidden" not in line

    @pytest.mark.parametrize("answers", [[Answer(status=404), Answer(b"ok"), Answer(status=404)]])
    def test_it_fails_once_more(self, receiver: LocalWeb, caplog: pytest.LogCaptureFixture) -> None:
        """After a letter that has arrived, the next that does not is news again."""
        assert bring(receiver.root, letter(), letter(), letter()) == {FAILED: 2, _SENT: 1}
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2

    @pytest.mark.parametrize("answers", [[Answer(status=404)], [Answer(status=401)]])
    def test_no_is_no(self, receiver: LocalWeb) -> None:
        """What another attempt would not mend is not attempted again."""
        assert bring(receiver.root, letter()) == {FAILED: 1}
        assert len(receiver.hits) == 1

    def test_redirects(self, caplog: pytest.LogCaptureFixture) -> None:
        """They are not followed: nobody else is told."""
        with LocalWeb({"/there": "got it"}) as other:
            away = Answer(status=307, headers={"Location": f"{other.root}/there"})
            with LocalWeb({"/": away}) as receiver:
                assert bring(receiver.root, letter()) == {FAILED: 1}
            assert other.hits == []
        assert "redirects are not followed" in caplog.text

    def test_refused(self, caplog: pytest.LogCaptureFixture) -> None:
        """Nobody listens there."""
        with LocalWeb({}) as gone:
            pass
        assert bring(gone.root, letter()) == {FAILED: 1}
        assert "cannot be connected to" in caplog.text

    def test_an_unknown_name(self, caplog: pytest.LogCaptureFixture) -> None:
        """A name that leads nowhere is a failure like others."""
        assert bring("http://unknown.example/", letter()) == {FAILED: 1}
        assert "unknown.example" in caplog.text

    def test_a_huge_answer(self) -> None:
        """Of an answer so much is read, and its status counts."""
        with LocalWeb({"/": Answer(b"x" * 5_000_000)}) as receiver:
            assert bring(receiver.root, letter()) == {_SENT: 1}

    def test_it_hangs(self) -> None:
        """Silence ends an attempt."""
        assert against(_hang, seconds=0.1) == {FAILED: 1}

    def test_it_drips(self) -> None:
        """So does a head that comes byte by byte for ever: the time is for all of it."""
        assert against(_drip, seconds=0.1) == {FAILED: 1}

    def test_it_is_no_http(self) -> None:
        """What is no answer of a web server is none."""
        assert against(_babble) == {FAILED: 1}

    def test_a_certificate_that_does_not_hold(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """It is told of nothing: whoever is in between would be told it all."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*Authority(tmp_path).issue("localhost", "127.0.0.1"))
        with LocalWeb({"/": "ok"}, tls=tls) as receiver:
            assert bring(receiver.root, letter(), verify=Verify.REQUIRE) == {FAILED: 1}
            assert receiver.hits == []
        assert "does not hold" in caplog.text


def against(
    handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], seconds: float = 20
) -> Counter[str]:
    counted: Counter[str] = Counter()

    async def run() -> None:
        async with serving(handler) as port:
            with client() as ours:
                to = hook(f"http://a.example:{port}/")
                courier = Courier(to, ours, lambda name: counted.update([name]), pauses=(0.01,), seconds=seconds)
                courier.put(letter())
                await until_async(lambda: courier._task is not None and courier._task.done(), "the courier's end")

    asyncio.run(run())
    return counted


async def _hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(65536):
        pass


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not writer.transport.is_closing():
        writer.write(b"x")
        await asyncio.sleep(0.005)


async def _babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\x01\x02 what do you want?\r\n\r\n")


class TestTheEnd:
    def test_it_waits_for_what_is_under_way(self, receiver: LocalWeb) -> None:
        """What was put just before is told before the process ends; a heartbeat has no meaning any more."""
        counted: Counter[str] = Counter()

        async def run() -> None:
            with client() as ours:
                courier = Courier(hook(receiver.root, events=list(Event)), ours, lambda name: counted.update([name]))
                for event in (Event.STALL, Event.HEARTBEAT, Event.END):
                    courier.put(letter(event))
                await courier.close(20)

        asyncio.run(run())
        assert counted == {_SENT: 2}
        assert [json.loads(hit.body)["event"] for hit in receiver.hits] == ["stall", "end"]

    def test_it_does_not_wait_for_ever(self, caplog: pytest.LogCaptureFixture) -> None:
        """What a silent receiver has not had by then is lost, and counted."""
        counted: Counter[str] = Counter()

        async def run() -> None:
            async with serving(_hang) as port:
                with client() as ours:
                    courier = Courier(hook(f"http://a.example:{port}"), ours, lambda name: counted.update([name]))
                    courier.put(letter(Event.STALL))
                    courier.put(letter(Event.END))
                    await courier.close(0.1)
                    assert courier._task is not None
                    assert courier._task.done()

        asyncio.run(run())
        assert counted == {FAILED: 2}
        assert "did not answer before the crawl's end" in caplog.text

    @pytest.mark.parametrize("answers", [[Answer(status=500), Answer(b"ok")]])
    def test_a_pause_is_cut_short(self, receiver: LocalWeb) -> None:
        """Who pauses before another attempt makes it at once when the crawl ends."""
        counted: Counter[str] = Counter()

        async def run() -> None:
            with client() as ours:
                courier = Courier(hook(receiver.root), ours, lambda name: counted.update([name]), pauses=(3600,))
                courier.put(letter())
                await until_async(lambda: receiver.hits, "the first attempt")
                await courier.close(20)

        asyncio.run(run())
        assert counted == {_SENT: 1}


def test_urls_with_commas() -> None:
    """As they are typed on a command line."""
    one, two = read("http://127.0.0.1:8000/a?b=c, https://example.com")
    assert (one.endpoint, one.host, one.target) == (Endpoint(False, "127.0.0.1", 8000), "127.0.0.1:8000", "/a?b=c")
    assert (two.endpoint, two.target) == (Endpoint(True, "example.com", 443), "/")
    assert one.events == _NEWS
    assert Event.HEARTBEAT not in _NEWS


def test_a_name_outside_of_ascii_and_an_address_of_ipv6() -> None:
    """They are connected to as a browser would."""
    one, two = read(["http://bücher.example/", "http://[::1]:81/"])
    assert one.endpoint.host == "xn--bcher-kva.example"
    assert (two.endpoint.host, two.endpoint.port, two.host) == ("::1", 81, "[::1]:81")


@pytest.mark.parametrize("as_text", [True, False])
def test_mappings(as_text: bool) -> None:
    """In settings.py, or as JSON on the command line: with events and a secret."""
    given = [{"url": "http://h/", "events": ["end", "heartbeat"], "secret": "s"}]
    (hook,) = read(json.dumps(given) if as_text else given)
    assert hook.events == {Event.END, Event.HEARTBEAT}
    assert hook.secret == b"s"


def test_files(tmp_path: Path) -> None:
    """URL and secret may be in files, which nobody sees on a command line."""
    (tmp_path / "url").write_text("https://hooks.example/T0/secret\n")
    (tmp_path / "key").write_text("k\n")
    (hook,) = read({"url": f"@{tmp_path}/url", "secret": f"@{tmp_path}/key"})
    assert (hook.target, hook.secret) == ("/T0/secret", b"k")


def test_nothing_secret_is_shown() -> None:
    """The path of a chat's webhook is all that is needed to write there."""
    (hook,) = read({"url": "https://hooks.example/T0/hidden?x=hidden", "secret": "hidden"})
    assert "hidden" not in f"{hook} {hook!r}"
    assert str(hook) == "https://hooks.example/..."


@pytest.mark.parametrize("setting", [None, "", [], ()])
def test_none(setting: object) -> None:
    """Without any nobody is told."""
    assert read(setting) == ()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("ftp://example.com/hidden", "no http(s) URL"),
        ("hidden", "no http(s) URL"),
        (7, "not int"),
        ([7], "url has to be text"),
        ([{}], "no http(s) URL"),
        ("[{", "begins as JSON"),
        ({"url": "http://h/", "event": ["end"]}, "is events meant?"),
        ({"url": "http://h/", "events": ["begin"]}, "a list of start, end"),
        ({"url": "http://h/", "events": []}, "a list of start, end"),
        ({"url": "http://h/", "events": {"end": 1}}, "a list of start, end"),
        ({"url": "http://h/", "secret": "whsec_hidden!"}, "is no base64"),
        ({"url": "http://h/", "secret": 7}, "secret has to be text"),
        ({"url": "@/no/such/file"}, "No such file"),
        ("http://user:hidden@h/", "user name"),
    ],
)
def test_of_no_use(setting: object, says: str) -> None:
    """One line says what is wrong, and nothing that may be a secret."""
    with pytest.raises(OptionError) as caught:
        read(setting)
    assert says in str(caught.value)
    assert "hidden" not in str(caught.value)
