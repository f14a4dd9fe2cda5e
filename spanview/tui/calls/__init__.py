"""Ray's calls.

function_calls_screen  the calls of one function
calls_screen           a line a function or actor method
"""
