"""Networks written as ONNX graphs."""
