"""DABS-Storm's simple insensitive topology: every event costs the same."""
