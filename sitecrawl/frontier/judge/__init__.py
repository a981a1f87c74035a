"""What is held back as a trap, why, and when it is tried again."""
