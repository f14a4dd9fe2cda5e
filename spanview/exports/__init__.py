"""Traces and spans to other formats, and to files."""
