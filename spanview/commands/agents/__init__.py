"""What `spanview mcp` answers.

tools       what each tool is called, takes and answers
questions   one call of a tool: what it asks for, of which spans
folding     the tree of a trace in few lines
answers     what is answered: bounded, and fenced as data
"""
