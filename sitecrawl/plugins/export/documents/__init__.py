"""The text of PDF and Office files."""
