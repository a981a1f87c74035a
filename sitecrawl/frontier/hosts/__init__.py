"""What is known of hosts and their sections: politeness, what their fetches gave, how they grow."""
