"""Where a cluster keeps what must survive: the contract, in memory and in ZooKeeper, and what is written there."""
