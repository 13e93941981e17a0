"""Ready-made sources. Each derives from `Spout` and can be derived from.

Layout: trace (when events are due), trace_file (CSV to counts) <- trace_settings (configuration to both) <- trace_spout;
synth (counts that are made up), trace_spout <- event_spout.
"""

from __future__ import annotations

from pasps.spouts.event_spout import EventSpout
from pasps.spouts.trace_spout import TraceSpout

__all__ = ["EventSpout", "TraceSpout"]
