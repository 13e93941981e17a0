"""The tables and figures of the papers, made again: `python -m benchmarks.papers`. One file a paper; inputs and curves come from --data."""
