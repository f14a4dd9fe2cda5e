"""A timeline of each worker."""
