"""What `check` finds: why a folder looks the way it does, with evidence and advice.

finding   every kind of finding, in one table, and what a finding says
facts     what several detectors need, computed once
files     torn ends, files that were written again, duplicates, logs, empty folders
traces    missing parents, clocks, runs, events that were cut off
calls     calls without an attempt, and calls that tracing itself broke
serve     sampling, missing proxies, failures that look like successes
report    all of it: findings by severity, problems, counts, the verdict
"""
