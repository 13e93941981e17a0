"""Forecasts, judged: which series, what each model says of them from rolling origins, and what the numbers are worth."""
