"""Bytewax with each step written over whole batches, which is not how its guide writes it, but the most it can do."""

from __future__ import annotations

from benchmarks.subjects.bytewax import launch

if __name__ == "__main__":
    launch("benchmarks.subjects.bytewax_batch", "benchmarks.subjects.bytewax_flow:batch_flow")
