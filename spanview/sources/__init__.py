"""Where bytes come from: places, files, standard input, and what changes in them while spanview watches."""
