"""A recording as arrays: its usable samples, its channels, a filtered copy."""
