"""Several metrics as one: distances calibrated on held-out pairs, and their sum."""
