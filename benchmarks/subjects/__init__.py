"""The programs that are measured: `python -m benchmarks.subjects.<name> --workload w1 --workers 1 ...`."""
