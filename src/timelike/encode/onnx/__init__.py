"""Export of encoders as ONNX graphs."""
