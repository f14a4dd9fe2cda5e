"""One span: its details, its links."""
