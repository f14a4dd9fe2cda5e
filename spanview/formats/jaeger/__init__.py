"""Jaeger's JSON.

read   to whole spans
rows   straight to rows
write  written
"""
