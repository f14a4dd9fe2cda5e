"""OTLP over the network: spans sent to whatever takes them.

endpoint      where spans are sent, from options and from OpenTelemetry's variables of the environment
wire          protobuf's encoding: tags, lengths, varints
to_proto      spans as protobuf
unsent        which spans are still to be sent
batches       what is sent at once
answers       what an endpoint answers, and what follows from it
over_http     requests over HTTP
over_grpc     requests over gRPC
acknowledged  which spans have arrived, in a file
sender        sending: again after a failure, in halves where it is too much
"""
