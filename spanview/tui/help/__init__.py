"""The keys, and the pages of the manual.

help_screen  the list of keys and pages, and one page
"""
