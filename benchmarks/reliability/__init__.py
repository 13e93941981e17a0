"""What happens to a topology of a cluster when parts of the cluster are killed, and for how long."""
