"""The live crawl: the assembled engine, its checkpoints, and everything that touches Scrapy's engine."""
