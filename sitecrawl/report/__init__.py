"""A crawl as one file to look at, print and send: `scrapy report` (docs/dashboard.md).

`gather` reads the crawl's directory, also while it runs; `drawing` and `graph` make coordinates of it; `render`
writes HTML. The file has no script and asks for nothing, and forbids its reader's browser both.
"""
