"""What waits, in which order: the ranks of URLs, and queues of them on disk."""
