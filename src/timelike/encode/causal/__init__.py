"""The T-Loss encoder with a causal network: estimator, network, stream, ONNX."""
