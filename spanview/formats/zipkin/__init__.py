"""Zipkin's JSON.

shared  servers that share the id of their client's span
read    to whole spans
rows    straight to rows
write   written
"""
