"""The development cluster on this machine: its parts, their processes, and what is written down of them; `cluster` joins it."""
