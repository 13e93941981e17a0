"""How a command reaches a topology that runs, here or in a cluster: `which_run` says which is meant, `asked_topology` is it."""
