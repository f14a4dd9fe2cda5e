"""How quick spanview is, as ratios against something run at the same time: `python -m tests.benchmarks`."""
