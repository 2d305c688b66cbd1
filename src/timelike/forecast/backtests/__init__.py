"""Backtests: forecasts from many origins, refits, scores with intervals, and the record of them."""
