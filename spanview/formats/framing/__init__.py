"""Bytes in pieces of any size to documents.

frames      what framing hands over: documents, and the gaps between them
buffer      the bytes that were fed and aren't framed yet
marks       what the beginning of a document looks like
prefix      the names of writers before lines of a log
starts      where the next document may begin
ends        the ends of documents, guessed by line ends; right for nearly all
scanner     the end of a document, or its break, token by token
containers  documents and lists that hold records one by one, and whether one is being read so
damage      what is passed over, and the document there that broke off
doclines    which lines belong to a document that others were printed into
framer      bytes to documents, with all of these
prefixed    the same for logs whose lines begin with the names of writers
"""
