"""spanview's own exports.

read   read again
write  one span as spanview's JSON
"""
