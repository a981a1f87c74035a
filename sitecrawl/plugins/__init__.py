"""What can be taken away without a crawl missing it, each in a folder that says what it adds (docs/plugins.md).

The rest of sitecrawl imports none of them, but by the names that they declare.
"""
