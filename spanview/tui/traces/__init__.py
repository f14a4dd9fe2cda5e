"""The first screen: all traces.

places         which of the PATHs have spans
plot_model     durations over time in cells
completeness   which traces are incomplete
marks          what is marked beside errors
matching       which traces match a query
filtering      the filter: what is typed, and what it has found
listed         the listed traces as what other screens are about
plot           the plot above the list
preview        the selected trace beside the list
trace_list     a line a trace, and the heads of the columns
group_list     a line a root name
traces_screen  the screen, which maps keys to all of these
"""
