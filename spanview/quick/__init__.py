"""The quick way from large files to the store, for records exactly as the SDK writes them.

layouts     the two layouts in which the SDK writes a span
times       times to nanoseconds, many at once
known_rows  bytes that were seen before, looked up for many records at once
tails       the ends of records, after their attributes
scan        from bytes to columns, without decoding
proof       what only a decoder sees
rows        the columns of many spans in one buffer
files       what is scanned, and with which options
pages       from files to rows; what doesn't fit is decoded
cores       how many processes work at the same time
processes   the same with other processes, which share memory
adopt       from rows into the tables of the index
"""
