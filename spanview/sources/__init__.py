"""Where bytes come from: places, files, standard input, and what changes in them while spanview watches.

terms         what a session is given, and what it reports
places        the default places, and spanview's own folders
discover      from PATHs to regular files
descriptors   how many descriptors this process may have, and reading by them
details       records read again, from the spool or from their files
spool         what can't be read again, in a temporary file
tail          one file, read once or while it grows, and those that are held open
unpacking     gzip and zstd, piece by piece
reading       from one file's or stream's bytes into the store
packed        compressed files, read as they grow
quickly       large folders, scanned by several processes, and what comes in large amounts
kept          the index of a large folder, kept for the next session
session       PATHs into a store, once or for as long as they change
follow        hints of changes, and a search all the same
new_spans     spans handed on one by one as they are read
loading       the short way from PATHs to a store
line_file     a file of lines that may be huge, read where it is looked at
logs          the logs that Ray leaves beside spans, and the lines of a span
worker_exits  what Ray's files say of the end of a worker
processes     what the processes of this host show: who is alive, and what Ray's workers run
unended       what has become of spans without an end, as these processes show
"""
