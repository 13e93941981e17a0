"""What a cluster adds: a store, packages, Spark, the driver of each topology, the master of all, and a whole cluster on one machine."""
