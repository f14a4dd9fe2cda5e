"""Ray's calls.

call_log               the line that names the log of the selected call
function_calls_screen  the calls of one function
calls_screen           a line a function or actor method
"""
