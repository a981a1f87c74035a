"""A crawl's directory: whose it is, its database and history, and writes that survive a power failure."""
