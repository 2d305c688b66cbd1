"""The siamese GRU: estimator, network, and a stream of samples through it."""
