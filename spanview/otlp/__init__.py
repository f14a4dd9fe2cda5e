"""OTLP over the network: what is sent here becomes lines of span files, and spans are sent to whatever takes them.

body          a request's body, and what becomes of it
to_json       bodies of protobuf to lines
from_json     bodies of JSON to lines
span_lines    spans of one resource and scope as lines
logs_metrics  logs and metrics as lines
span_log      the files: appended to, whole or not at all, and a new one when one is large
intake        bodies in hand: one thread makes lines of them and writes, many at a time
http          the server for HTTP
grpc_service  the server for gRPC
replies       what is answered, in protobuf and JSON
receiver      from start to end: ports, signals, summary

endpoint      where spans are sent, from options and from OpenTelemetry's variables of the environment
wire          protobuf's encoding: tags, lengths, varints
to_proto      spans as protobuf
batches       which spans are still to be sent, and what is sent at once
responses     what an endpoint answers, and what follows from it
over_http     requests over HTTP
over_grpc     requests over gRPC
acknowledged  which spans have arrived, in a file
sender        sending: again after a failure, in halves where it is too much
"""
