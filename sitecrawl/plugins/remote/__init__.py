"""A crawl's pages in a store elsewhere, such as S3, as they come (docs/remote.md)."""

from typing import Any, Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
REMOTE: Final = Setting("SITECRAWL_REMOTE", "", "URL",
    "A [store elsewhere](remote.md) that gets each WARC file when it is closed, and the page index at the end.")
REMOTE_OPTIONS: Final[Setting[dict[str, Any]]] = Setting("SITECRAWL_REMOTE_OPTIONS", {}, "mapping",
    "What [fsspec's file system](https://filesystem-spec.readthedocs.io/) for that store takes.", is_secret=True)
# fmt: on

PLUGIN = Plugin(
    settings=(REMOTE, REMOTE_OPTIONS),
    wanted_by=(REMOTE,),
    components={"ITEM_PIPELINES": {"sitecrawl.plugins.remote.copy.RemotePipeline": 901}},
    commands={"upload": "sitecrawl.plugins.remote.commands.upload.Command"},
    elsewhere="sitecrawl.plugins.remote.store.Elsewhere",
)
