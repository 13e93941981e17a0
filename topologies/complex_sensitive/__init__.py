"""DABS-Storm's complex sensitive topology: opinions in two branches, one of them with a cost that depends on the value."""
