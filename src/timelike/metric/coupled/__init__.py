"""The coupled GRU: estimator and network."""
