"""What each worker did when: a lane each.

choosing      which of a lane's blocks a cell shows
lanes_bulk    the same for all cells at once, with numpy
lanes_bars    a lane's time as a line of cells
lanes_model   the lanes, their workers, their order, and which time is shown
lane_lines    the list of lanes
lanes_screen  the screen
"""
