"""Traces and spans to other formats, and to files; the modules in the order of the pipeline.

walks          the spans of traces in the order in which exports write them
shares         shares of traces or rows that forked processes write or draft side by side, put together in order
losses         what a format can't say, counted
span_texts     the objects of spans in formats of spanview's own
alike_records  what the records of a run of spans have in common, and where their values differ
shared_lines   spans that share a line of OTLP, each as if it had a line of its own
alike_texts    the objects of spans whose records are similar, many at once
alike_spans    what else is written of such spans, found out by what changes the text of one
tree_facts     what only trees show of spans: waits and critical paths
trace_nodes    the spans of traces in the order of the trace tree, and what comes between them
trace_tree     the format trace-tree: whole traces with their trees
jsonl          the format jsonl: a span a line
otlp           the format otlp
jaeger         the format jaeger
zipkin         the format zipkin
chrome         the format chrome
surroundings   what a page says, too, of processes and of where somebody read
page/          what a page for a browser shows, and its own files
html           the format html
arrow_spans    spans as columns of Arrow
parquet        the format parquet
by_name        the formats by their names
baseline       what statistics rest on, to be compared with later
files          a whole new file or the old one, never something in between
"""
