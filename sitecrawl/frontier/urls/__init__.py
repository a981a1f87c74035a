"""What is known of each URL: its record, its state, its credit, and how many are in each state."""
