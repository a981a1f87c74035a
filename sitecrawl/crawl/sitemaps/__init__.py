"""The sitemaps of a live crawl: found, remembered, and visited when they may have something new."""
