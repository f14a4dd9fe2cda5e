"""Ray calls."""
