"""What a crawl does about certificates that do not hold, and whom it tells."""

from __future__ import annotations

import re
import ssl
from contextlib import ExitStack
from pathlib import Path

import pytest
from certificates import Authority, certificate
from crawling import scrapy, stats_of
from localweb import LocalWeb
from scrapy.settings import Settings

from sitecrawl.addon import Addon
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.configuration import verify_tls
from sitecrawl.extensions.network import tls_context
from sitecrawl.http import Verify


def serving(file: Path) -> LocalWeb:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return LocalWeb({"/": "a page"}, tls=context)


def test_a_crawl(tmp_path: Path) -> None:
    """All pages are taken, each host that proves nothing is named once, and the report counts them. Where they have
    to hold, these hosts are given up, and the one whose authority SSL_CERT_FILE names gives its page.
    """
    authority = Authority(tmp_path)
    with ExitStack() as stack:
        webs = {
            "": serving(authority.together("good.example", "127.0.0.1")),
            "expired": serving(authority.together("old.example", "127.0.0.1", days=-1)),
            "for another name": serving(authority.together("other.example")),
            "self-signed": serving(certificate(tmp_path)),
        }
        places = {fault: stack.enter_context(web).root.removeprefix("https://") for fault, web in webs.items()}
        words = ["crawl", "generic", "-a", "seeds=" + ",".join(f"https://{place}" for place in places.values())]
        settings = {"SITECRAWL_FAILURE_DELAY": 0.01, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}
        env = {"SSL_CERT_FILE": str(authority.file)}
        taken = scrapy(*words, settings={**settings, "JOBDIR": tmp_path / "warn"}, env=env)
        strict = {**settings, "JOBDIR": tmp_path / "require", "SITECRAWL_VERIFY_TLS": "require"}
        refused = scrapy(*words, settings=strict, env=env)
    assert stats_of(taken.stderr)["downloader/response_status_count/200"] == 4
    assert stats_of(refused.stderr)["downloader/response_status_count/200"] == 1
    report = scrapy("report", "-d", str(tmp_path / "warn"), "-o", "-").stdout
    for fault, place in places.items():
        told = f"The certificate of {place} is {fault}: what comes of it is taken all the same"
        assert taken.stderr.count(told) == bool(fault)
        assert (place in report.partition('id="certificates"')[2].partition("</section>")[0]) == bool(fault)
        if fault:
            assert stats_of(taken.stderr)[f"tls/distrusted/{fault}"] == 1
            assert re.search(rf"1  {fault}, such as that of {place}$", taken.stderr, re.MULTILINE)
            assert re.search(rf"1  certificate {fault}, such as {place}$", refused.stderr, re.MULTILINE)
    assert "all the same" not in refused.stderr


def settings(**given: object) -> Settings:
    made = Settings()
    for name, value in given.items():
        made.set(name, value, "project")
    return made


def test_scrapys_own_setting() -> None:
    """It requires what `require` does, the two agree on what other handlers do, and do not contradict each other."""
    assert verify_tls(settings()) is Verify.WARN
    assert verify_tls(settings(DOWNLOAD_VERIFY_CERTIFICATES="1")) is Verify.REQUIRE
    ours = settings(SITECRAWL_VERIFY_TLS="require")
    Addon().update_settings(ours)
    assert ours.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
    with pytest.raises(OptionError, match="leave one of them out"):
        verify_tls(settings(DOWNLOAD_VERIFY_CERTIFICATES=True, SITECRAWL_VERIFY_TLS="off"))


def test_no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of them that is not there would make every certificate a bad one."""
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    assert verify_tls(settings(SITECRAWL_VERIFY_TLS="off")) is Verify.OFF
    with pytest.raises(OptionError, match="SSL_CERT_FILE is '/no/such/file'"):
        verify_tls(settings())


def test_versions_and_ciphers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy's settings name them, for whatever is verified; SSLKEYLOGFILE says where the keys go."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    cipher = "ECDHE-RSA-AES128-GCM-SHA256"
    given = settings(
        DOWNLOAD_TLS_MIN_VERSION="TLSv1.2", DOWNLOAD_TLS_MAX_VERSION="TLSv1.2", DOWNLOADER_CLIENT_TLS_CIPHERS=cipher
    )
    for verify in Verify:
        context = tls_context(given, verify)
        assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2,) * 2
        assert [one["name"] for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"] == [cipher]
        assert context.keylog_filename == str(tmp_path / "keys")
        assert (context.verify_mode is ssl.CERT_NONE) == (verify is Verify.OFF)
        assert context.check_hostname == (verify is not Verify.OFF)
