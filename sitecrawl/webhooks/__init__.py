"""What a crawl tells other programs by itself: JSON by HTTP, when it begins, ends, stalls or meets many errors."""
