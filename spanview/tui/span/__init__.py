"""One span: its details, its links.

details      headline, sections and lines of one span, which the screen of its trace shows, too
links        the spans that link to it, and the one that probably belongs together with it
span_screen  the screen, which maps keys to these
"""
