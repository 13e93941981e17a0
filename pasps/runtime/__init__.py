"""What runs in a worker, from the spout's executor to the ledger and back; stepped by `daemons` and `testing`.

A tuple's walk: spout_executor -> emitter -> target (a local task_slot, or a peer) -> inbox -> an executor with its runner
-> settler -> emitter again, and ack_box -> ack_ledger. A decision's last steps: table_keeper -> replica_pool, task_moves,
emitter.refresh. `worker` wires them, and has no I/O.
"""
