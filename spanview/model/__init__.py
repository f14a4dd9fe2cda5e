"""What things are. No input or output happens here.

codes     kinds and status codes
ids       trace and span ids
times     times
problems  warnings on a span, problems of a file, errors
span      spans and their parts
stretch   a stretch of a file, recognised later by its checksum
"""
