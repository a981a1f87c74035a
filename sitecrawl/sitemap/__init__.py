"""Sitemaps, feeds and hubs: read, found, remembered, and visited when they may have something new."""
