"""Zipkin's JSON.

shared  servers that share the id of their client's span
read    read
write   written
"""
