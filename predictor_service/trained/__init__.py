"""Models that are trained beforehand, on a trace, and kept as artifacts: what makes them, what keeps them, what serves them.

manifest and artifacts need no numpy: the server uses them. All else is for processes that fit, and for who trains.
"""
