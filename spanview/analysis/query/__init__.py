"""Queries, from their text to the spans that match, and to why none does.

timetext    times and durations as people type them
keys        the language's own keys, each once
parse       the text of a query to its terms
values      how a query sees the values of attributes
regex       regular expressions, matched by RE2
base        what every term is made of: a test, what it costs, and which columns decide it
everywhere  the keys that search texts: `any`, `event`, `description`, `scope`
terms       what keys mean
subject     the span or trace that is asked about
query       a query as a whole
written     texts quoted so that a query takes them literally
bytesearch  what the bytes of records say about an attribute, without decoding
matches     which spans of a store match, and which traces
since       `--since`: a time, or the newest run
select      traces and spans by id, by query and by time
selection   those that options ask for
words       names, attributes and values of a store, for completion
misses      why a query matches nothing
aggregate   figures of many spans
gate        `--fail-on`: what matches, and whether anything could
complete    what the term under the cursor may become
"""
