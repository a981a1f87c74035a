"""Every setting of ours that is no limit, in the order of docs/settings.md."""

from __future__ import annotations

from typing import Any, Final

from sitecrawl.base import limits
from sitecrawl.base.setting import Setting

# fmt: off

# What is fetched, and in which order
PRESET: Final = Setting("SITECRAWL_PRESET", "sites", "name",
    "`sites`: the defaults on this page. `scrapy`: [Scrapy's pace](writing-spiders.md#scrapys-pace).",
    choices=("sites", "scrapy"))
MAX_PAGES: Final = Setting("SITECRAWL_MAX_PAGES", 0, "URLs",
    "Stop when this many URLs have been fetched, over all runs of the crawl; 0: no limit.")
SHEETS: Final[Setting[list[Any]]] = Setting("SITECRAWL_SHEETS", [], "list",
    "[Other settings for some hosts](sheets.md): mappings with `hosts` and options; JSON on the command line.",
    is_secret=True)
COOKIES: Final = Setting("SITECRAWL_COOKIES", False, "yes or no",
    "Keep the [cookies](login.md#cookies) of all hosts, not only of those whose sheet or login asks for it.")
ORDER: Final = Setting("SITECRAWL_ORDER", "aopic", "name",
    "Which URL is next: by importance, by the spider's own score, level by level, or the newest.",
    choices=("aopic", "aopic-published", "best", "bfs", "dfs"))
FRONTIER: Final = Setting("SITECRAWL_FRONTIER", "", "class",
    "The path of [a frontier of your own](design/frontier.md), in the place of sitecrawl's.")
HOLD_TRAPS: Final = Setting("SITECRAWL_HOLD_TRAPS", True, "yes or no",
    "Under `aopic`, hold back what grows like a bot trap, and learn which [parts of a host's URLs do not change the "
    "page](design/dust.md). `False`: crawl to the very last URL.")
TRAP_BUDGET: Final = Setting("SITECRAWL_TRAP_BUDGET", 5000, "URLs",
    "So much of a seed's site is fetched, at least, of what brings new URLs without end, before a crawl ends without "
    "the rest ([the end](design/order.md#the-end)).", least=0)
REQUISITES: Final = Setting("SITECRAWL_REQUISITES", False, "yes or no",
    "Find [what pages are made of](requisites.md), and let site spiders fetch it.")
FTP: Final = Setting("SITECRAWL_FTP", False, "yes or no",
    "Accept seeds on FTP servers, and follow links to them ([FTP](ftp.md)).")
CONTACT: Final = Setting("SITECRAWL_CONTACT", "", "text",
    "A URL or e-mail address of the crawl's owner, for the User-Agent and the WARC files.")
PLUGINS_OFF: Final[Setting[list[Any]]] = Setting("SITECRAWL_PLUGINS_OFF", [], "names",
    "[Plug-ins](plugins.md) that the crawl goes without.")

# Politeness
DELAY_FACTOR: Final = Setting("SITECRAWL_DELAY_FACTOR", 10.0, "times",
    "After a download that took t seconds, the host rests for t times this factor; 0: no rest.")
MAX_DELAY: Final = limits.CRAWL_DELAY
CONCURRENT_REQUESTS_PER_IP: Final = Setting("SITECRAWL_CONCURRENT_REQUESTS_PER_IP", 8, "requests",
    "Requests under way to one IP address, over all its hosts; 0: no limit.")
VERIFY_TLS: Final = Setting("SITECRAWL_VERIFY_TLS", "warn", "name",
    "Hosts whose [certificates do not hold](faults.md#certificates): take their pages and say so, "
    "refuse, or do not check.", choices=("require", "warn", "off"))
FAILURE_DELAY: Final = Setting("SITECRAWL_FAILURE_DELAY", 1.0, "seconds",
    "Pause of a host after a failed download, a 429, a 503 or a challenge; doubled by each further one.")
MAX_HOST_FAILURES: Final = Setting("SITECRAWL_MAX_HOST_FAILURES", 10, "failures",
    "After this many in a row a host is given up, or after three if it has never answered; 0: never.")
MAX_WANT_TIME: Final = Setting("SITECRAWL_MAX_WANT_TIME", 600.0, "seconds",
    "How long the crawl pauses if this machine [lacks something](faults.md#what-this-machine-lacks); 0: for ever.")

# The seen set
SEEN_CACHE: Final = Setting("SITECRAWL_SEEN_CACHE", 65_536, "URLs",
    "Popular URLs that are recognised without asking the filter. About 260 bytes of memory each.")

# Many workers
WORKERS: Final = Setting("SITECRAWL_WORKERS", "1", "processes",
    "How many share the crawl [on this machine](scaling.md#on-one-machine), 1 to 1024; `auto`: one a core.")
CLUSTER: Final = Setting("SITECRAWL_CLUSTER", "", "URL",
    "The Redis that workers share, [as it is named](scaling.md#how-it-is-named); `True`: that of `REDIS_URL`.")
CLUSTER_CRAWL: Final = Setting("SITECRAWL_CLUSTER_CRAWL", "", "name",
    "Workers with the same name work on the same crawl. Empty: the spider's name.")
CLUSTER_REPLICAS: Final = Setting("SITECRAWL_CLUSTER_REPLICAS", 0, "replicas",
    "How many of Redis' replicas must have what a worker writes, so that it survives [a "
    "failover](scaling.md#sentinels).")
CLUSTER_SHARDS: Final = Setting("SITECRAWL_CLUSTER_SHARDS", 16, "partitions",
    "Into how many parts the sites are divided, 1 to 1024; fixed when the crawl begins.", least=1, most=1024)
LEASE_SECONDS: Final = Setting("SITECRAWL_LEASE_SECONDS", 30.0, "seconds",
    "When a worker has been silent for this long, others take over what it had.", least=1)
CLUSTER_UNSAFE: Final = Setting("SITECRAWL_CLUSTER_UNSAFE", False, "yes or no",
    "Accept a Redis that may lose parts of the crawl: without an append-only file, or with eviction.")
CLUSTER_WATCH: Final = Setting("SITECRAWL_CLUSTER_WATCH", False, "yes or no",
    "Keep running when nothing is left, and wait for seeds that are pushed later.")

# Sitemaps
SITEMAP_BUDGET: Final = Setting("SITECRAWL_SITEMAP_BUDGET", 500.0, "requests a day",
    "For all sitemaps of a site, conditional requests included.")

# The page store
DUPLICATE_CONTENT: Final = Setting("SITECRAWL_DUPLICATE_CONTENT", "revisit", "name",
    "A page with exactly the body of another: stored as a reference, not followed besides, or stored in full.",
    choices=("keep", "revisit", "skip-links"))
WARC_SIZE: Final = Setting("SITECRAWL_WARC_SIZE", 1_000_000_000, "bytes",
    "When a WARC file has reached this size, the next record begins a new file.")
WARC_MASKED: Final = Setting(
    "SITECRAWL_WARC_MASKED", ["Authorization", "Cookie", "X-Api-Key", "X-Auth-Token"], "names",
    "Headers of requests whose values are stored as `(masked)`; an empty list keeps all.")
DEDUPE_FROM: Final[Setting[list[Any]]] = Setting("SITECRAWL_DEDUPE_FROM", [], "directories",
    "Earlier crawls whose bodies are [not stored again](page-store.md#bodies-of-earlier-crawls).")
DATABASE_URL: Final = Setting("SITECRAWL_DATABASE_URL", "", "URL",
    "Where `pipelines.DatabasePipeline` writes, as a URL of SQLAlchemy ([the page store](page-store.md)).")

# What a person sees
LOG_JSON: Final = Setting("SITECRAWL_LOG_JSON", False, "yes or no",
    "After Scrapy's first two entries, its versions, the log is JSON lines with `time`, `level`, `logger`, `message` "
    "and `exception`.")
PROGRESS: Final = Setting("SITECRAWL_PROGRESS", "auto", "auto, True or False",
    "The live line. `auto`: if stderr is a terminal.", choices=("auto", "True", "False", "true", "false", "1", "0"))
EXIT_CODES: Final = Setting("SITECRAWL_EXIT_CODES", True, "yes or no",
    "Exit with 4 if [no page was fetched](faults.md#no-page), and with 5 if [only held-back URLs are "
    "left](commands.md#how-it-ended).")
SUMMARY: Final = Setting("SITECRAWL_SUMMARY", True, "yes or no",
    "Print a summary on stderr at the end, and at the start what the URL-seen test consists of.")

# fmt: on

SETTINGS: Final[dict[str, Setting[Any]]] = {
    setting.name: setting
    for setting in [*globals().values(), *limits.LIMITS]
    if isinstance(setting, Setting) and setting.name.startswith("SITECRAWL_")
}
"""Our settings by name, limits included; the add-on adds those of plug-ins."""


RETIRED: Final = {
    "SITECRAWL_LAMBDA_POLICY": "it is hosts, and with order=aopic-published pages",
    "SITECRAWL_GC_THRESHOLD": "it is 10,000 objects",
    "SITECRAWL_SITEMAP_PRICE": "it is 3,600 seconds",
    "SITECRAWL_SEEN_BLOOM": "the filter is pybloom-live",
    "SITECRAWL_SEEN_EXACT": "the exact set is always asked",
    "SITECRAWL_SEEN_ERROR_RATE": "it is 0.01",
    "SITECRAWL_DATABASE_TABLE": "it is pages",
    "SITECRAWL_ITEMS_TABLE": "it is items",
    "SITECRAWL_REVIVAL_DELAY": "it is 3,600 seconds",
    "SITECRAWL_SHUTDOWN_TIME": "it is 5 seconds",
    "SITECRAWL_SEEN_CAPACITY": "the filter begins with a million URLs, and grows by itself",
    "SITECRAWL_SITEMAP_MIN_INTERVAL": "it is 600 seconds",
    "SITECRAWL_MAX_CRAWL_DELAY": "it is SITECRAWL_MAX_DELAY",
    "SITECRAWL_DASHBOARD_PORT": "SITECRAWL_DASHBOARD says it: 127.0.0.1:8123",
    "SITECRAWL_SITEMAP_MAX_INTERVAL": "it is 30 days",
    **dict.fromkeys(
        (
            "SITECRAWL_MAX_CHUNKS", "SITECRAWL_MAX_HEADERS", "SITECRAWL_MAX_HEADER_SIZE",
            "SITECRAWL_MAX_ROBOTS_SIZE", "SITECRAWL_MAX_EXTRACT_SIZE", "SITECRAWL_MAX_EXTRACT_TIME",
            "SITECRAWL_MAX_REGEX_TIME", "SITECRAWL_MAX_SITEMAP_ENTRIES", "SITECRAWL_MAX_SITEMAP_SIZE",
            "SITECRAWL_MAX_TREE_ELEMENTS", "SITECRAWL_MAX_TREE_SIZE", "SITECRAWL_MAX_LINKS", "SITECRAWL_SCHEMES",
        ),
        "docs/limits.md has the value",
    ),
}  # fmt: skip
"""Settings of the last version that there are no more, and what to use instead."""
