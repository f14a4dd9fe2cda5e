"""The first screen: all traces.

places         which of the PATHs have spans
columns        what traces and groups can be sorted by
plot_model     durations over time in cells
traces_model   which traces are listed, in what order, and what a line says of each
groups_model   what is known of the traces of one root name
traces_bulk    what is asked of all traces of a list, with numpy
completeness   which traces are incomplete
silence        in which ones something failed without an error
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
