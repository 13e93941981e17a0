"""Runs `pasps traces` in this process."""

from __future__ import annotations

import argparse
from pathlib import Path

from pasps.cli import traces


def run(*words: str | Path) -> int:
    """As if it was called with these words; raises what the command line would say."""
    parser = argparse.ArgumentParser("pasps traces")
    traces.add(parser)
    return traces.traces(parser.parse_args([str(word) for word in words]))
