"""Pages as a browser has them (docs/rendering.md): a real one, that reaches the network by this process alone."""
