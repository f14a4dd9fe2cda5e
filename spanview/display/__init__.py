"""Data as text that a terminal can show: made harmless, with units, and drawn with lines and blocks."""
