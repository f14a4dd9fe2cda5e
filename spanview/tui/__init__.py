"""The viewer: screens, what they are made of, and one table of keys. Only this folder imports textual.

keys          all keys: bindings, hints, help and the page `viewer` are made of this table
viewer        what a screen may ask of the application
shims         what is used of Textual's own parts, and what it is for
widgets/      what screens are made of: lists, tables, prompts, work in threads
app/          the application, the reading thread, themes, settings
traces/       the first screen: all traces, in groups and as a plot
trace/        one trace: tree and waterfall
span/         one span: details and links
stats/        statistics, and the spans behind a row
flame/        call paths as blocks: a flame graph
calls/        Ray calls
running/      what runs and waits now
workers/      a timeline of each worker
serve/        Ray Serve requests
log/          logs beside spans
diff/         comparisons
check/        findings and problems
explanation/  what took the time, what failed and what is missing, in sentences
help/         keys, and the pages of the manual
"""
