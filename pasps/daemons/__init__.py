"""Processes: the only room that joins runtime, control and cluster. A worker's process, a topology's master, the local cluster."""
