"""Questions to a tree or a store: self time, statistics, queries, selections. No input or output happens here."""
