"""The application.

themes         the colours
settings       what a person has set, and its file
keeping        keeping it soon after it was set
opening        what the viewer begins with
feed           the reading thread
news           what it tells, and when the screens hear of it
findings       how many things the check finds, for the header
terminal       what reads the terminal
quicker        what Textual does over and over, done once
warm           what later keys need, imported while nobody waits
views          going from view to view
exporting      exports of what is looked at
palette        all actions by their names
app            the application, which opens the screens
"""
