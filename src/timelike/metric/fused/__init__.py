"""`Fused`: the sum of several metrics, calibrated on held-out pairs."""
