"""What is known, as reports: a question's table as data, from which screens, texts, JSON, csv, Markdown and pages come.

table             columns, and which of them there is room for
report            a table with its rows, and what it says of itself; JSON, csv and Markdown of it
lines             the same as lines of text
frames            the same as flat columns, for data frames
calls             Ray's calls by function, actor, node or job
comparison        two sides held against each other
each_call         these calls one by one
explanation       what took the time, what failed, what is missing: sentences
explanation_text  the same as lines, with what each rests on
findings          what `check` finds
gates             what gates found
ci                what was checked as CI systems read it
running           what runs and waits now
serve             Ray Serve's requests, by route and one by one
statistics        counts, errors and times of spans by something that they have in common; numbers of an attribute
by                any of these, as `stats --by` names it
workers_model     the workers, their order, and which time is shown
workers           how busy each one was
traces_model      which traces are listed, in what order, and what is known of each
traces            traces one by one, and by what their roots are called
"""
