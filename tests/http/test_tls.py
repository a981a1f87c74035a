"""Certificates that hold and that do not, of real servers on loopback, under each of the three rules."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop
from certificates import Authority, certificate
from http_clients import OK, answering, get, look_up, serving

from sitecrawl.http import (
    BadCertificate,
    Client,
    ConnectionFailed,
    Download,
    Endpoint,
    Fault,
    ReadLimits,
    Tls,
    Verify,
)
from sitecrawl.http.tls import _MAX_HOSTS, bad_certificate

Told = list[tuple[str, Fault]]


class Host:
    """A name, and the certificate that its server has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = Authority(folder)

    def server(self, fault: Fault | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._file(fault))
        return context

    def _file(self, fault: Fault | None) -> Path:
        if fault is Fault.SELF_SIGNED:
            return certificate(self._folder)
        if fault is Fault.UNKNOWN:
            elsewhere = self._folder / "elsewhere"
            elsewhere.mkdir(exist_ok=True)
            return Authority(elsewhere, "another authority").together("a.example")
        name = "b.example" if fault is Fault.OTHER_NAME else "a.example"
        return self.authority.together(name, days=-1 if fault is Fault.EXPIRED else 1)

    def client(self, verify: Verify) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if verify is Verify.OFF:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        else:
            context.load_verify_locations(self.authority.file)
        return context

    async def ask(self, verify: Verify, fault: Fault | None, times: int = 1) -> tuple[list[bytes], Told, int]:
        """The bodies, who was told of, and how many connections that took."""
        told: Told = []
        shakes: list[int] = []
        context = self.server(fault)
        context.sni_callback = lambda *_: shakes.append(1)
        tls = Tls(self.client, verify, lambda endpoint, found: told.append((endpoint.host, found)))
        ours = Client(look_up, tls, ReadLimits())
        try:
            async with serving(answering(OK), context) as port:
                request = get(port, endpoint=Endpoint(True, "a.example", port))
                bodies = [b"".join((await Download(ours, request).run(max_size=10)).body) for _ in range(times)]
        finally:
            ours.close()
        return bodies, told, len(shakes)


FAULTS = [Fault.SELF_SIGNED, Fault.EXPIRED, Fault.OTHER_NAME, Fault.UNKNOWN]


@pytest.mark.parametrize("runner", [asyncio.Runner, lambda: asyncio.Runner(loop_factory=uvloop.new_event_loop)])
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault(fault: Fault, runner: Callable[[], asyncio.Runner], tmp_path: Path) -> None:
    """Required, it ends the download; else the page comes, and with `warn` somebody is told, once a host."""
    host = Host(tmp_path)
    with runner() as run:
        bodies, told, connections = run.run(host.ask(Verify.WARN, fault, times=2))
        assert (bodies, told, connections) == ([b"ok", b"ok"], [("a.example", fault)], 3)
    with runner() as run, pytest.raises(BadCertificate, match="does not hold") as caught:
        run.run(host.ask(Verify.REQUIRE, fault))
    assert caught.value.fault is fault


@pytest.mark.parametrize("verify", Verify)
def test_one_that_holds(verify: Verify, tmp_path: Path) -> None:
    """It costs no second connection, and nobody is told."""
    assert asyncio.run(Host(tmp_path).ask(verify, None)) == ([b"ok"], [], 1)


def test_not_looked_at(tmp_path: Path) -> None:
    """Whatever it says."""
    assert asyncio.run(Host(tmp_path).ask(Verify.OFF, Fault.EXPIRED)) == ([b"ok"], [], 1)


def test_no_tls_is_no_certificate(tmp_path: Path) -> None:
    """A host that speaks something else is not asked again without a check."""
    asked: list[int] = []

    async def mail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(1)
        await reader.read(1)
        writer.write(b"220 mail.example ESMTP\r\n")

    async def run() -> None:
        ours = Client(look_up, Tls(Host(tmp_path).client), ReadLimits())
        try:
            async with serving(mail) as port:
                request = get(port, endpoint=Endpoint(True, "a.example", port))
                await Download(ours, request).run(max_size=10)
        finally:
            ours.close()

    with pytest.raises(ConnectionFailed):
        asyncio.run(run())
    assert len(asked) == 1


def test_what_is_remembered_has_an_end() -> None:
    """Beyond so many hosts it is forgotten which are bad, and found out anew."""
    told: list[str] = []
    tls = Tls(lambda verify: verify, Verify.WARN, lambda endpoint, _: told.append(endpoint.host))  # type: ignore[arg-type, return-value]
    error = ssl.SSLCertVerificationError(1, "verify failed")
    error.verify_code, error.verify_message = 99, "something new"
    first = Endpoint(True, "0.example", 443)
    for number in range(_MAX_HOSTS + 1):
        endpoint = Endpoint(True, f"{number}.example", 443)
        assert tls.overlooks(endpoint, bad_certificate(endpoint, error))
    assert tls.context(endpoint) == Verify.OFF  # type: ignore[comparison-overlap]
    assert tls.context(first) == Verify.REQUIRE  # type: ignore[comparison-overlap]
    assert bad_certificate(first, error).fault is Fault.OTHER
