"""What the screens are built of.

base_screen  what they have in common: header, footer, keys from the one table
header       the lines at the top and the bottom
view_bar     the bar of views under the header
scope        which traces a screen is about
work         work beside a screen, in a thread: the latest wins
report_screen  a screen that lists the rows of a question
live         figures that stay true while spans come, computed anew by `work`
paint        small things that several lists paint
linelist     a list of any length that paints only the rows in sight
table        lists whose columns are data: which of them there is room for, and their heads
legend       what colours stand for
answer_line  where the time went, in a line
known        what can be proposed to whoever types a query
completing   a line in which it is proposed
prompt       the line in which a filter or a search is typed
dragging     drawing the mouse over cells of time
minimap      all of the time in one line, of which a stretch is picked
zooming      what keys, minimap and wheel do to the time that is shown
copying      copying ids, command lines and JSON
"""
