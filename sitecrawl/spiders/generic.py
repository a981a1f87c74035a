"""`scrapy crawl generic -a seeds=...`: every page of some sites, once."""

from sitecrawl.spiders.site import SiteSpider


class GenericSpider(SiteSpider):
    """Stores every page in scope and takes nothing else from it."""

    name = "generic"
