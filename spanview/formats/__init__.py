"""Bytes to spans, without input or output: framing, recognition, and one module a format."""
