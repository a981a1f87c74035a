"""The live crawl: the engine put together, its checkpoints, and all that touches Scrapy's engine."""
