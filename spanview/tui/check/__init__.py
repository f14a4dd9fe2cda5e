"""Findings, and problems of files."""
