"""A process that reads documents, where the extra for PDF files is not installed."""

from __future__ import annotations

import sys

from sitecrawl.isolation import document_worker

if __name__ == "__main__":
    vars(sys)["modules"]["pypdfium2"] = None
    document_worker.main()
