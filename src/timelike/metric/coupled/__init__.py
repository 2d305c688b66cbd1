"""The coupled GRU: estimator, network, and its dynamics without input."""
