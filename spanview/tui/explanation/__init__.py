"""What took the time, what failed and what is missing, in sentences.

explanation_screen  the screen
"""
