"""Replacements for Scrapy's download handler, downloader, stats and log formatter."""
