"""The encoder with a causal network: estimator, network, stream and ONNX graph."""
