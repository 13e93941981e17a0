"""What `behaviour.py` and `activation.py` run: each module is one topology with its driver, which returns rows of the table."""
