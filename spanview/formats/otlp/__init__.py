"""OTLP's JSON.

fields  the fields of messages
values  attributes, in and out
read    to whole spans
rows    straight to rows
write   written
"""
