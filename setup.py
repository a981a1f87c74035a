"""Builds eggs for scrapyd, which need a setup.py; all that it says is in pyproject.toml."""

from setuptools import setup

setup()
