"""Comparisons of two sides."""
