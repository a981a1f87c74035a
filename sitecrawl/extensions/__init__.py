"""What Scrapy is told to use in the place of its own: download handler, downloader, stats, log formatter."""
