"""URLs that are other forms of pages that are known."""
