"""The project's settings: what must be known before a crawler is built, and what is a matter of taste. The rest comes
from the add-on, which leaves other projects as they are.
"""

from importlib.util import find_spec

from sitecrawl.base.plugins import found
from sitecrawl.crawl.directories import is_job

BOT_NAME = "sitecrawl"
SPIDER_MODULES = ["sitecrawl.spiders", *(spider for plugin in found().values() for spider in plugin.spiders)]
NEWSPIDER_MODULE = "sitecrawl.spiders"
COMMANDS_MODULE = "sitecrawl.console.named"
ADDONS = {"sitecrawl.addon.Addon": 500}

LOG_LEVEL = "INFO" if is_job() else "WARNING"  # of a job there is no more to see than its log

STATS_DUMP = is_job()  # the summary says it
COOKIES_ENABLED = False  # a crawl of whole sites has no session, and a cookie jar grows with every host
FEED_EXPORT_ENCODING = "utf-8"
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
if find_spec("uvloop"):
    ASYNCIO_EVENT_LOOP = "uvloop.Loop"

# Scrapy's default knows no IPv6, and does not say why a name leads nowhere.
TWISTED_DNS_RESOLVER = "sitecrawl.extensions.resolver.Resolver"
