"""The viewer in a browser: pages for whoever has the address, on this machine alone, and a process for each tab.

standard_input  what is piped in, again for each tab
tab             the process of one tab
gate            who may ask, and what a browser may do with the answers
server          what is asked, and the tabs that are open
"""
