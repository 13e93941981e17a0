"""Sources and sinks beside the trace spout; docs/connectors.md lists them.

Each is a module of its own that is imported by its name (`from pasps.connectors.lines import LineSpout`), so that what is not
used needs no package.
"""
