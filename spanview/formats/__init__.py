"""Bytes to spans, without input or output: framing, recognition, and a module or a folder a format.

jsontext    JSON as programs really write it: quick where it is strict, exact where it isn't
deepjson    a decoder without recursion, for what nests deeper than others can follow
framing/    bytes in pieces of any size to documents
rows        what every format hands to the index: columns, and details
usual       rows of what is as its format has it, and of what isn't
careful     the parts of a decoded value, each of which may be of any type
tracestate  trace states, as the SDK and as W3C write them
console/    the console exporter's JSON
own/        spanview's own exports
otlp/       OTLP's JSON
ray_events  Ray's own events, of which it writes a line each
unwritten   lines between spans that count those which could not be written
tags        what Jaeger and Zipkin have in common
go          what Go's `stdouttrace`, BuildKit and Docker write
jaeger/     Jaeger's JSON
zipkin/     Zipkin's JSON
chrome      Chrome's trace events, written only
wrapped     lists of any of these in a document of no format
foreign     which of the formats a decoded value is of
decoder     a file's bytes to batches of columns: framing, recognition, format
"""
