"""Spans become columns, and columns become trees. Nothing here opens a file.

table          the columns of spans and traces, and texts that are held once
processes      which process a span is of, by its file or its resource
slots          hash tables from ids to rows
tallies        counts of files, bytes and duplicates, and the problems of files
documents      the way back to records, also to those within larger documents
blocks         records of many spans, read in large pieces
intake         the way in: duplicates are dropped, the others are appended to the columns
arrange        rows numbered by path and offset, whatever the order in which they came
state          the columns as what a kept index holds
ray_tasks      what Ray's own events say of tasks, actors and nodes, as columns
lives          what processes tell of spans: which run, wait or are lost
store          all of it together: what every question is asked of
tree           one trace stitched: parents, missing parents, circles
arrays         columns as numpy arrays, hashes of ids, and orders
memory         what the C library and Python's collector do with memory that was freed
room           what only adding needs, given up and rebuilt
known_records  records that begin as the columns say, of which only the rest is decoded
known_lines    records of OTLP with one span each, of which only the span is decoded
known_attributes  the attributes of many spans, and nothing else of their records
whole_spans    the spans of many rows with all their details
gather         bytes at many places of a buffer at once
forest         many traces stitched at once, as columns, and as one tree
summary        files, spans, traces, duplicates and missing parents in numbers
part           a store of some traces of another one
"""
