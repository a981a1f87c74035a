"""What in a URL chooses no content: rules that are learnt of a host's pages, tested, and dropped when they fail."""
