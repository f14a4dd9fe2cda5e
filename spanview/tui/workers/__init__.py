"""A timeline of each worker: a line each.

choosing         which of a worker's blocks a cell shows
worker_bars      a worker's time as a line of cells
worker_lines     the list of workers
workers_screen   the screen
"""
