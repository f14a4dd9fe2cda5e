"""Spans to columns to trees, without input or output."""
