"""What a terminal shows of a crawl: the live line, the summary, and what the commands that read one share."""
