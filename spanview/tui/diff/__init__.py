"""Two sides held against each other, call path by call path.

side               one of two that are compared
marking            marking one, and comparing with the next
diff_model         the paths of both, in the orders that the screen has
diff_screen        the comparison
pairs              what can be compared without a query: folders, what failed, what took longest
other_side_screen  what a side is compared with: a query, all others, or one of these pairs
"""
