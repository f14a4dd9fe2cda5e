"""Collecting the span files of a cluster's nodes into one folder, and counting on the nodes what all of them can read.

node_files    what runs on a node: new bytes of its span files
collection    the nodes of a cluster, and what was collected of each, in a folder
tasks         a task for each node of a Ray cluster
task_states   what its head knows of tasks, where nodes have no events of them
dashboard     the same through the dashboard, which has the logs of all nodes
shared_files  files that every node can read
span_rows     spans on their way between processes
shuffle       spans of many files brought together by their traces
statistics    statistics of spans
parts         where exports go
export        exports of spans
"""
