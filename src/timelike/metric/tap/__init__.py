"""TAP, temporal alignment prediction: estimator and network."""
