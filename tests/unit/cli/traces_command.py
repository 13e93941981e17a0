"""Runs `pasps traces` in this process."""

from __future__ import annotations

from pathlib import Path

from pasps.cli.main import call, parsed


def run(*words: str | Path) -> int:
    """As if it was called with these words; raises what the command line would say."""
    return call(parsed(["traces", *map(str, words)]))
