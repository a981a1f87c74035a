"""Processes that may do next to nothing: how they are held, started and asked."""
