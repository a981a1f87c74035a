"""What a terminal shows of a crawl: the live line, the summary, and the base of the commands that read one."""
