"""What can be taken away without a crawl missing it. Only commands import it."""
