"""When pages are fetched again in a crawl that goes on, and what is remembered of them for that."""
