"""What `benchmarks.elastic` is made of: the trace, the line that it drives, the runs, their outcomes, and what is made of those."""
