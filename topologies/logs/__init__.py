"""Logs of distributed systems, line by line: parse, template, event, store (PA-SPS, Figure 14)."""
