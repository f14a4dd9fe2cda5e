"""spanview: the `less` of distributed traces."""

__version__ = "0.1.0"
