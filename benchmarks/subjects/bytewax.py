"""Bytewax as its own launchers run it: `bytewax.run` for one process, `bytewax.testing -p n` for more."""

from __future__ import annotations

import os
import sys

from benchmarks.options import parse


def main() -> None:
    """Become the launcher."""
    launch("benchmarks.subjects.bytewax", "benchmarks.subjects.bytewax_flow:flow")


def launch(program: str, flow: str) -> None:
    """Replace this process; the flow reads the options from the environment."""
    options = parse(program)
    launcher = ["bytewax.run"] if options.workers == 1 else ["bytewax.testing", "-p", str(options.workers)]
    os.execv(sys.executable, [sys.executable, "-m", *launcher, f"{flow}()"])


if __name__ == "__main__":
    main()
