"""What `import spanview` offers to notebooks, programs and tests.

store  what was read, and its traces
trace  one trace and its nodes, as views of the store's columns
spans  spans of this process, from the SDK's exporter in memory
"""
