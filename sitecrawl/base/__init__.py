"""What every room stands on: errors, and the limits on what comes off the network."""
