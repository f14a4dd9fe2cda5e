"""What `check` finds: why a folder looks the way it does, with evidence and advice.

finding    what can be found, how sure and how bad it is, and what to do: a table
facts      a store's columns and forest, and what several detectors need, computed once
files      detectors of what files show: torn records, files that were emptied or shared, hooks
traces     of what traces show: missing roots and parents, clocks, runs
calls      of Ray's calls
serve      of Ray Serve's requests
report     runs all of them; the most severe findings come first
"""
