"""What benchmarks/predictor.py measures: two services, the bare fit, and the clients that ask them."""
