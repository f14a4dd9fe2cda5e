"""What is missing, torn or wrong, and what to do.

check_model   the lines of a report
check_screen  the screen
"""
