"""What runs in a worker, from the spout's executor to the ledger and back; stepped by `worker` and `testing`.

A tuple's walk: spout_executor -> emitter -> target -> an inbox, or a peer and then an inbox -> executor (waiting_executors) -> ways ->
outcome -> settler -> emitter again, and acks -> ack_ledger. A decision's last steps: tables -> moves, hosting, emitter.refresh.
`worker` builds them in that order, steps them, and takes in what peers send; it has no I/O.
"""
