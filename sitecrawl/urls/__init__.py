"""URLs: parsed and canonical, fingerprinted, sorted into shapes, and how those of traps look."""
