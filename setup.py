"""Builds eggs for scrapyd; everything else is in pyproject.toml."""

from setuptools import setup

setup(entry_points={"scrapy": ["settings = sitecrawl.settings"]}, zip_safe=True)
