"""A queue that makes missing rows of all comparisons in the background: `python -m benchmarks.queue --budget 60`."""
