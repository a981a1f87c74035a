"""Looking for something: a keyword, a topic, links that promise to lead to it."""
