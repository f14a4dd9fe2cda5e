"""The first screen: all traces, as a list, in groups and as a plot."""
