"""The driver of one topology of a cluster: holds its Spark tasks, its tables, its repair and its control loop."""
