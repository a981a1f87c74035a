"""Errors, settings, limits and helpers that every room uses."""
