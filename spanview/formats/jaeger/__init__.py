"""Jaeger's JSON.

read   read
write  written
"""
