"""Scrapy's own tests of crawling, with sitecrawl's add-on in every project of theirs, beside Scrapy as it is.

`make scrapys-tests` makes the environment that they need and runs this. They come with the source of the Scrapy that
is installed; what is tested is the one that is installed. Its base tests of download handlers are run with ours, too.
A test that Scrapy passes, and that does not pass with the add-on, has to be explained in `EXPLAINED`: else the exit
code is 1. Needs about six minutes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

FILES = (
    "test_crawl", "test_engine", "test_engine_close_spider", "test_engine_download", "test_engine_loop",
    "test_engine_stop_download_bytes", "test_engine_stop_download_headers", "test_core_downloader",
    "test_downloader_handlers", "test_downloadermiddleware_cookies", "test_downloadermiddleware_redirect",
    "test_downloadermiddleware_redirect_metarefresh", "test_downloadermiddleware_retry",
)  # fmt: skip
HANDLER = "test_downloader_handler_ours"
_ORDER = "requests are ordered by the credit of their section, and not last in, first out"
_LOGS = "a URL that cannot be had is no error of the crawl: it is counted and told, and logged at INFO"
_PAUSE = "a host's pauses follow its answers too, so a crawl of it takes longer than the delays that are set"
_ROBOTS = "robots.txt is obeyed: its answer is one more than the requests that were scheduled"
_WORDS = "the same happens; the log or the error says it in other words"
_TUNNEL = "an empty path is sent as / (RFC 9110, section 4.2.3); Scrapy's handler sends no path"
_AGAIN = "what is tried again goes back into the frontier, and not by the retry middleware, whose line is missing"
_RETRY_LEVEL = "RETRY_GIVE_UP_LOG_LEVEL is INFO: a page that is not to be had is no error of the crawl"
EXPLAINED = {
    "test_crawl": {
        "test_fixed_delay": _PAUSE,
        "test_randomized_delay": _PAUSE,
        "test_retry_conn_failed": _AGAIN,
        "test_retry_dns_error": _AGAIN,
        "test_spider_errback_downloader_error": _LOGS,
        "test_spider_errback_downloader_error_exception": _LOGS,
        "test_unknown_url_scheme": _LOGS,
    },
    "test_core_downloader": {"test_default": "the frontier keeps the delays: Scrapy's jitter of them is off"},
    "test_engine": {
        "test_crawler": _ROBOTS,
        "test_crawler_dupefilter": _ROBOTS,
        "test_download_wrong_type": _LOGS,
        "test_enqueue_scrape_error": "it replaces a method of Scrapy's own scraper",
    },
    "test_engine_close_spider": {"test_exception_scheduler": "it replaces a method of Scrapy's own disk queues"},
    "test_engine_loop": dict.fromkeys(("test_lazy", "test_lifo_start", "test_shared_queues"), _ORDER),
    "test_engine_stop_download_bytes": {"test_crawler": _ROBOTS},
    "test_engine_stop_download_headers": {"test_crawler": _ROBOTS},
    "test_downloadermiddleware_retry": dict.fromkeys(
        ("test_give_up_log_level_default", "test_max_retries_reached", "test_two_retries"), _RETRY_LEVEL
    ),
    HANDLER: {
        "test_download_cause_data_loss_double_warning": _WORDS,
        "test_download_with_maxsize": _WORDS,
        "test_download_with_maxsize_very_large_file": _WORDS,
        "test_download_with_warnsize": _WORDS,
        "test_download_with_warnsize_no_content_length": _WORDS,
        "test_invalid_max_version_setting": _WORDS,
        "test_invalid_min_version_setting": _WORDS,
        "test_download_with_proxy_https_timeout": "silence behind a proxy of https counts as the proxy's: InWant",
        "test_tls_logging": "DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING is not read",
        "test_verify_certs_deprecated": "it is about Twisted's context factories",
        "test_download_with_proxy": _TUNNEL,
        "test_download_with_proxy_without_http_scheme": _TUNNEL,
    },
}
"""By file and test what is otherwise, and why."""

PLUGIN = """
from scrapy.settings import default_settings

from sitecrawl.addon import Addon


class OnLoopback(Addon):
    def update_settings(self, settings):
        settings.set("SITECRAWL_ALLOW_PRIVATE", True, "spider")
        settings.set("SITECRAWL_DASHBOARD", False, "addon")
        super().update_settings(settings)


default_settings.ADDONS = {OnLoopback: 500}
"""
HANDLER_TESTS = """
import pytest

from sitecrawl.extensions.download_handler import DownloadHandler
from tests.utils.bases import download_handlers_http as bases

pytestmark = pytest.mark.only_asyncio
PATH = "sitecrawl.extensions.download_handler.DownloadHandler"


class Ours:
    @property
    def download_handler_cls(self):
        return DownloadHandler

    @property
    def settings_dict(self):
        return {"DOWNLOAD_HANDLERS": {"http": PATH, "https": PATH}}


def made(base, **given):
    return type(base.__name__.removesuffix("Base"), (Ours, base), {"__module__": __name__, **given})


TestHttp = made(bases.TestHttpBase)
TestHttps = made(bases.TestHttpsBase)
TestSimpleHttps = made(bases.TestSimpleHttpsBase)
TestHttpsWrongHostname = made(bases.TestHttpsWrongHostnameBase)
TestHttpsInvalidDNSId = made(bases.TestHttpsInvalidDNSIdBase)
TestHttpsInvalidDNSPattern = made(bases.TestHttpsInvalidDNSPatternBase)
TestHttpsCustomCiphers = made(bases.TestHttpsCustomCiphersBase)
TestHttpsDefaultCiphers = made(bases.TestHttpsDefaultCiphersBase)
TestHttpsTLSVersion = made(bases.TestHttpsTLSVersionBase)
TestHttpWithCrawler = made(bases.TestHttpWithCrawlerBase)
TestHttpsWithCrawler = made(bases.TestHttpWithCrawlerBase, is_secure=True)
TestHttpProxy = made(bases.TestHttpProxyBase)
TestHttpsProxy = made(bases.TestHttpProxyBase, is_secure=True, handler_supports_tls_in_tls=True)
"""
Outcomes = dict[tuple[str, str], str]
"""passed, failed or skipped, by file and by class, test and parameters."""


def source(given: Path | None, folder: Path) -> Path:
    """Scrapy's source without its package: the tests import the one that is installed."""
    if given is None:
        wanted = f"scrapy=={version('scrapy')}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", wanted]
        subprocess.run(command, cwd=folder, check=True)
        (given,) = folder.glob("scrapy-*.tar.gz")
    with tarfile.open(given) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = [path for path in folder.glob("scrapy-*") if path.is_dir()]
    (unpacked / "scrapy").rename(unpacked / "not-this-one")
    return unpacked


def run(folder: Path, files: tuple[str, ...], *, with_addon: bool) -> Outcomes:
    report = folder / "outcomes.xml"
    words = ["-n", "2", "--dist", "loadfile", "--timeout", "120", "-p", "no:cacheprovider", f"--junitxml={report}"]
    words += ["-W", "ignore::pytest.PytestRemovedIn10Warning", *(["-p", "sitecrawl_in"] if with_addon else [])]
    named = [f"tests/{name}.py" for name in files]
    with (folder / "log.txt").open("a") as log:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *words, *named], cwd=folder, stdout=log, check=False, timeout=1800
        )
    return dict(outcome(case) for case in ET.parse(report).getroot().iter("testcase"))


def outcome(case: ET.Element) -> tuple[tuple[str, str], str]:
    _, file, *classes = case.get("classname", "").split(".")
    kinds = {child.tag for child in case}
    found = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return (file, "::".join((*classes, case.get("name", "")))), found


def reason(file: str, test: str) -> str:
    return EXPLAINED.get(file, {}).get(re.sub(r"\[.*", "", test.rpartition("::")[2]), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sdist", type=Path, help="Scrapy's source; by default it is downloaded")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="scrapys-tests-") as name:
        folder = source(options.sdist and options.sdist.resolve(), Path(name))
        (folder / "sitecrawl_in.py").write_text(PLUGIN)
        (folder / "tests" / f"{HANDLER}.py").write_text(HANDLER_TESTS)
        stock = run(folder, FILES, with_addon=False)
        ours = run(folder, FILES, with_addon=True)
        handler = run(folder, (HANDLER,), with_addon=True)
    print(f"Scrapy {version('scrapy')} as it is: {said(stock)}")
    print(f"the same with the add-on: {said(ours)}")
    print(f"its tests of download handlers, with ours: {said(handler)}")
    others = {at: found for at, found in ours.items() if found == "failed" and stock.get(at) == "passed"}
    others |= {at: found for at, found in handler.items() if found == "failed"}
    for file, test in sorted(others):
        print(f"{file} {test}: {reason(file, test) or 'NOT EXPLAINED'}")
    return 1 if any(not reason(*at) for at in others) or len(ours) != len(stock) else 0


def said(outcomes: Outcomes) -> str:
    counts = Counter(outcomes.values())
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "skipped"))


if __name__ == "__main__":
    sys.exit(main())
