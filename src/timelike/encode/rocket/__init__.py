"""Rocket, features from random dilated convolutions: estimator, sampling of kernels, stream and ONNX graph."""
