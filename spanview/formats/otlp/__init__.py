"""OTLP's JSON.

fields   the fields of messages
values   attributes, in and out
read     to whole spans
columns  straight to columns
write    written
"""
