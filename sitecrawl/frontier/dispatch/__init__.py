"""Which URL is next: whose turn it is, and who may be asked now."""
