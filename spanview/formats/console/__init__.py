"""The console exporter's JSON.

columns  to columns
spans    to whole spans
"""
