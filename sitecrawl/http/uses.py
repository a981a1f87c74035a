"""The file in which a host says what it reserves."""

from typing import Final

TDM_FILE: Final = "/.well-known/tdmrep.json"
"""Path of the TDM Reservation Protocol (W3C Community Group, 10 May 2024)."""
