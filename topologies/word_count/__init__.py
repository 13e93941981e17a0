"""Word count: sentences are split into words, and equal words meet in the same task."""
