"""What pasps does with a machine's time, measured beside what people would write or pick instead.

`throughput.py`, `activation.py` and `behaviour.py` are the commands; README.md explains them.
`subjects/` are the programs that are measured; `workloads`, `event_source` and `sink` are the same code for all of them.
"""
