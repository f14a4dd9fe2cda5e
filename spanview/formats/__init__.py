"""Bytes to spans, without input or output: framing, recognition, and one module a format.

jsontext       JSON as programs really write it: quick where it is strict, exact where it isn't
deepjson       a decoder without recursion, for what nests deeper than others can follow
frames         what framing hands over: documents, and the gaps between them
buffer         the bytes that were fed and aren't framed yet
marks          what the beginning of a document looks like
prefix         the names of writers before lines of a log
starts         where the next document may begin
straight       documents that follow one another undamaged, as nearly all do
ends           the end of a document, guessed by line ends
scanner        the end of a document, or its break, token by token
lists          whether a list is one of records
containers     documents that hold records one by one, and whether one is being read so
damage         what is passed over, and the document there that broke off
doclines       which lines belong to a document that others were printed into
framing_run    one pass over the buffer, with all of these
framing        bytes in pieces of any size to documents
prefixed       the same for logs whose lines begin with the names of writers
rows           what every format hands to the index: columns, and details
careful        the parts of a decoded value, each of which may be of any type
tracestate     trace states, as the SDK and as W3C write them
console        the console exporter's JSON, to columns
console_spans  the same, to whole spans
own            spanview's own exports, read again
own_value      one span as spanview's JSON
otlp           OTLP's JSON, read
otlp_columns   the same, straight to columns
otlp_value     attributes of OTLP, in and out
otlp_out       OTLP's JSON, written
unwritten      lines between spans that count those which could not be written
tags           what Jaeger and Zipkin have in common
jaeger         Jaeger's JSON, read
jaeger_value   Jaeger's JSON, written
zipkin         Zipkin's JSON, read
zipkin_shared  Zipkin's servers that share the id of their client's span
zipkin_value   Zipkin's JSON, written
chrome         Chrome's trace events, written only
wrapped        lists of any of these in a document of no format
foreign        which of the formats a decoded value is of
decoder        a file's bytes to batches of columns: framing, recognition, format
"""
