"""Serve requests."""
