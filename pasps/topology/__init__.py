"""One topology, wherever it runs: its controller (table, workers, repair, restarts), its elasticity, its verbs, its run directory."""
