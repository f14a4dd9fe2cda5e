"""A timeline of each worker: a line each.

worker_bars      a worker's time as a line of cells
worker_lines     the list of workers
workers_screen   the screen
"""
