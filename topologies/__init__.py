"""Applications to run, to measure and to copy from: one folder each, with a README that has the command."""
