"""A crawl's one file: read, checked and explained."""
