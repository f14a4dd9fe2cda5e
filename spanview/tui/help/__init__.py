"""The keys."""
