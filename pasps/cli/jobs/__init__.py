"""`pasps traces` and `pasps et`: commands that count, compose and measure, most of them as jobs of Spark."""
