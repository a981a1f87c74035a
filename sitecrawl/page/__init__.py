"""What is read off a page: its links and what it says of itself, its type, charset, text and likeness to others."""
