"""Rocket: shares of dilated convolutions as features; how kernels are drawn, the estimator, its stream."""
