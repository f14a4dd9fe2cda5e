"""Questions to a store, one module a question. No input or output, and nothing is drawn.

window             a stretch of time that is shown of a longer one
intervals          the union of intervals, and how many overlap at a time
percentiles        percentiles, and durations by powers of ten
telling            the progress of a long answer, for whoever waits for it
walk               the spans of many traces in the order of their trees
consistent         parents and times of a trace without contradictions
selftime           self time
forest_selftime    the same for a whole forest
query/             which spans are meant: queries, `--since`, `--trace`, gates, and what may be typed
critical           the critical path
flame              call paths: their counts and times
grouping           what spans can be grouped by
amounts            sums and percentiles of numeric attributes by group
stats              counts, percentiles and self time of groups
root_groups        traces by the names of their roots, and of requests by route
trace_lists        what lists of traces are sorted by, and groups of traces
trace_columns      what is asked of all traces of a list, with numpy
ray/               Ray's calls, attempts, waits, reasons and workers, and what runs
genai/             calls of language models
serve/             Ray Serve's requests
diff               two sides merged by call path
diff_groups        two sides by name or by Ray function
noise              whether a change is more than what the spread of both sides explains
change             changes that gates compare with a limit
answer             where the time of a trace went, in a few parts
failures           failed spans, the newest first, each where it began
silent             what failed, though no error says so; the same by trace, and anew where traces grow
reused_ids         spans that share their ids though they are different spans
linked             which spans link to a span
logs/              logs beside spans
diagnosis/         what `check` finds
"""
