"""Which view a command shows: JSON lines, plain lines, or the live view where there is a terminal."""

from __future__ import annotations

import importlib
import os
import sys
from typing import cast

from pasps.cli.view import JsonView, PlainView, View


def choose_view(title: str, run_dir: str, *, as_json: bool, no_tty: bool) -> View:
    """The view for what was asked, and for what standard output is."""
    if as_json:
        return JsonView(run_dir)
    if no_tty or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return PlainView()
    # rich, which takes longer than the rest
    live_view = importlib.import_module("pasps.cli.live_view")
    return cast("View", live_view.LiveView(title))
