"""OTLP's JSON.

values   attributes, in and out
read     to whole spans
columns  straight to columns
write    written
"""
