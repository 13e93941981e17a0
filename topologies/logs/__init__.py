"""Logs of distributed systems, line by line: parse, template, event, store (PA-SPS, Figure 14)."""

from topologies.needed import need

need("logs", drain3="drain3")
