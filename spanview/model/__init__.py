"""What things are: spans, ids, times, problems. No input or output happens here."""
