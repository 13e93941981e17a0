"""Data preparation: traces and execution times, as jobs of Spark."""
