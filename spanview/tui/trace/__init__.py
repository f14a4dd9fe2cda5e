"""One trace: tree, waterfall, and the details of the selected span."""
