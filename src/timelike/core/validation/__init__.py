"""Input validation of arrays, sequences, labels, layouts and torch tensors."""
