"""What a topology travels in: made by who submits it, opened by its driver and on each node."""
