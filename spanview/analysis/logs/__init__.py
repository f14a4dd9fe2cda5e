"""Logs beside spans.

times  when a line of a log was written
lines  which lines of logs belong to a span
"""
