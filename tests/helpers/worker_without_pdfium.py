"""A process that reads documents, where the extra for PDF files is not installed."""

from __future__ import annotations

import sys

from sitecrawl.plugins.export.documents import worker

if __name__ == "__main__":
    vars(sys)["modules"]["pypdfium2"] = None
    worker.main()
