"""DABS-Storm's simple sensitive topology: what an event costs depends on its value."""
