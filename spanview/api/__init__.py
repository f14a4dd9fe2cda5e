"""What `import spanview` offers to notebooks, programs and tests.

rows           the rows of reports, with their types
report         what answers a question: rows, data frames, text; what is said of the time
views          what the traces and nodes of a store share
trace          one trace and its nodes, as views of the store's columns
tables         spans, calls and requests in a folder of Parquet files
store          what was read, its traces, and questions to all of them
spans          spans of this process, from the SDK's exporter in memory
following      spans as they are written
captured       the spans that a test makes
capturing      how they are captured, whatever provider is set up
pytest_plugin  the fixture that captures them, and reports of tests that fail
"""
