"""Logging in by a form, before the first page and again when a page shows that nobody is (docs/login.md)."""

from sitecrawl.base import declared
from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    wanted_by=(declared.SHEETS,),
    components={
        "DOWNLOADER_MIDDLEWARES": {
            "sitecrawl.plugins.logins.middleware.LoginMiddleware": 565,
            "sitecrawl.plugins.logins.middleware.LoginRedirectsMiddleware": 606,
        }
    },
)
