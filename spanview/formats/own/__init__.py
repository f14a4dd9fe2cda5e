"""spanview's own exports.

read   to whole spans
rows   straight to rows
write  one span as spanview's JSON
"""
