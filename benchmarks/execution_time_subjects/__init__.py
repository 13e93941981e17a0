"""What `benchmarks.execution_times` measures: bolts of every kind, and the topology that `pasps et` is given."""
