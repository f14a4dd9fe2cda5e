"""The quick way from large files to the store, for records of the SDK, of OTLP and of spanview itself.

layouts     the layouts in which the SDK writes a span
times       times to nanoseconds, many at once
known_rows  bytes that were seen before, looked up for many records at once
texts       names, and other texts of records
matches     the records of a page that fit so far
tails       the ends of the SDK's records, after their attributes
scan        from the SDK's records to columns, without decoding
brackets    where objects and lists begin and end in lines of JSON
objects     spans by a table of a format's keys
otlp        from lines of OTLP to columns, without decoding
own         the same of spanview's own lines
events      lines of Ray's events of tasks to columns
proof       what only a decoder sees
rows        the columns of many spans in one buffer
files       what is scanned, and with which options
pages       from files to rows; what doesn't fit is decoded
cores       how many processes work at the same time
processes   the same with other processes, which share memory
snapshots   records of spans before and after their ends, joined
adopt       from rows into the tables of the index
"""
