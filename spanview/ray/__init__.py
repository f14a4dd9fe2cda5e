"""Writing spans: the hook for Ray and the exporter for Ray Serve, which lose nothing that has ended.

In the order in which a span passes through:

hook          what Ray and Ray Serve are told to call
calls         what Ray's tracing breaks or cuts short, traced as it is, and the task that a call submits
random_ids    ids that a program's random seed has no part in
processors    each span to its files, as it starts and as it ends
identity      who this process is, and where its files are
runtime       what Ray knows of this process and of the task that it runs
lines         a span as a line of OTLP's JSON
notices       what is said on standard error
span_file     lines to a file, each by one write; files of limited size

Workers import this, so it loads nothing of the other folders.
"""
