"""Statistics of spans.

spans_screen   the spans behind a line, slowest first; comparisons list theirs so, too
stats_screen   a line a name, service, kind, or value of any attribute
"""
