"""Where a cluster keeps what must survive: the contract, ZooKeeper, and what is written there."""
