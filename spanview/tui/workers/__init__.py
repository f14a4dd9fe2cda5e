"""A timeline of each worker: a line each.

choosing         which of a worker's blocks a cell shows
worker_bars      a worker's time as a line of cells
workers_model    the workers, their order, and which time is shown
worker_lines     the list of workers
workers_screen   the screen
"""
