"""The live page of a crawl: what an operator looks at, and does, while it runs (docs/dashboard.md).

Everything is made for a crawl of ten thousand hosts that must not notice it: one sample a second, of figures that
others keep anyway; tables are looked over in slices of a millisecond or two, and only while somebody reads them.
"""
