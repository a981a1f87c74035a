"""What a crawl may be for, and the file in which a host says what it reserves."""

from typing import Final

USES: Final = ("search", "ai-use", "train-ai", "tdm")
"""Categories of draft-ietf-aipref-vocab-08, and text and data mining of any other kind."""
TDM_FILE: Final = "/.well-known/tdmrep.json"
"""By the TDM Reservation Protocol (W3C Community Group, 10 May 2024)."""
