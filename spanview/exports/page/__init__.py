"""What the format html is made of: what Python has found out, and the page's own files, which draw it.

packed          data as a block that a page carries compressed
columns         the traces and their rows, as columns
asked           what else queries ask of them
language        the queries themselves
conclusions     statistics, findings and problems
details         attributes, events, links and resources, in blocks that are read when somebody looks
"""
