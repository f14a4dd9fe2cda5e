"""One trace: tree and waterfall, and the details of the selected span.

runs             like siblings that are one row, and how many spans run at each time
stitched_trace   a stitched trace as its rows need it: nodes in the order of the screen, what hangs below each, runs
trace_model      which nodes are in sight, and which time
lit_path         the critical path, ready to be drawn
appearance       what lines show besides names and times: further columns, colours, events, the critical path
row_texts        what rows say, on the screen and in pictures
waterfall        the rows, and the ruler above them
trace_picture    from what is shown, or a whole trace, to pictures in files, and texts for the clipboard
stitcher         keeps what is shown in line with what has come, in named states
search           finding spans by a query
missing_parents  what is known of spans that no file holds
failures         what failed, and in which order it is visited
details_below    the details of the selected span, below the waterfall
trace_screen     the screen, which maps keys to all of these
"""
