"""What `python -m benchmarks.cluster` measures: the same topologies by `pasps run` and in a cluster."""
