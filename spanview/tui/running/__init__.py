"""What runs and waits now.

running_screen  a line a span that runs, or a call that waits
"""
