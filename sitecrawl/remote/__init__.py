"""Copies of a crawl's files in a store elsewhere: S3 and the like, by fsspec (docs/remote.md)."""
