"""Read a page: links, directives, type, charset, text, and its likeness to others."""
