"""A site's own lists of its pages: read, found, remembered, and visited when they have something new."""
