"""Data as text that a terminal can show: made harmless, with units, and drawn with lines and blocks.

sanitise      from data to the screen: nothing that a file says can act on the terminal
units         numbers with the units a person reads
cells         texts in columns of so many cells
shades        the colours of services and processes, and of printed lines
bars          bars of eighth blocks
timeline      round times along a line of time
parts         the lines that details are made of
conversation_text  a conversation with a language model as lines that can be folded
json_text     a JSON value as lines that can be folded
raw_text      a record as lines that can be folded
stacks        stack traces, taken apart
stack_text    stack traces as lines, what matters unfolded
span_in_tree  a span and its position in its tree
log_text      lines of logs that belong to a span
timing_text   when a span ran
call_text     both halves of a Ray call, in a line
span_text     a span's details, section by section
trace_words   a trace without a root, and what is missing of one
tree_text     a trace as lines of text
picture       a trace's waterfall as something to be drawn
picture_svg   the same as an SVG file
picture_text  the same as lines of text
serve_text    Serve's requests in words
answer_text   where the time of a trace went, in a line
diff_text     two sides merged by call path
finding_text  findings, and what to do about them
notices       problems in one line
miss_text     why a query matches nothing, and where in it a mistake is
page_text     a page of the documentation, set for a terminal
page_man      the same as a man page
"""
