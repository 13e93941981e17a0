"""A topology's graph in virtual time, under the real control loop: the model, what drives it, and what it is made of."""
