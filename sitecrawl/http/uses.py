"""Uses of a crawl's pages, and the file in which a host reserves them."""

from typing import Final

USES: Final = ("search", "ai-use", "train-ai", "tdm")
"""Categories of draft-ietf-aipref-vocab-08, and text and data mining of any other kind."""
TDM_FILE: Final = "/.well-known/tdmrep.json"
"""Path of the TDM Reservation Protocol (W3C Community Group, 10 May 2024)."""
