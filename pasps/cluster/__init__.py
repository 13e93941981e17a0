"""What surrounds workers: how they are started and watched."""
