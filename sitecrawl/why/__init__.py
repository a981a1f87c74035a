"""Why a URL was fetched, waits, or is not known: one answer, with what speaks for it (docs/why.md)."""
