"""Logs beside spans: what is found of a span's, and a pager for files of any length that may grow.

span_logs   the log of the selected span, looked for in a thread, and the way to it
log_window  the part of the file whose lines are known
log_rows    the lines as rows, painted
log_search  finding a text in the file, in a thread
log_screen  the screen, which maps keys to these
"""
