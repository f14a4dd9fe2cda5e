"""What `import spanview` offers to notebooks, programs and tests.

store          what was read, and its traces
trace          one trace and its nodes, as views of the store's columns
spans          spans of this process, from the SDK's exporter in memory
captured       the spans that a test makes
capturing      how they are captured, whatever provider is set up
pytest_plugin  the fixture that captures them, and reports of tests that fail
"""
