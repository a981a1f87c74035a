"""Sitemaps, feeds and hubs as documents: where they are, and what they say."""
