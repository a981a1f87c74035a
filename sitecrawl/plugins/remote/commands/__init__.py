"""Commands, each a module of its name."""
