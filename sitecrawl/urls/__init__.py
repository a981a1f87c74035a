"""URLs: parsing, canonical form, fingerprints, shapes, and signs of traps."""
