"""How worker processes come to be: on this machine, and as tasks of Spark."""
