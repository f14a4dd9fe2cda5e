"""One span: its details, its links.

details         headline, sections and lines of one span, which the screen of its trace shows, too
incoming_links  the spans that link to it, looked for in all records when it is asked
counterpart     the span that probably belongs together with it, and no link leads to
span_screen     the screen, which maps keys to these
"""
