"""Call paths as blocks."""
