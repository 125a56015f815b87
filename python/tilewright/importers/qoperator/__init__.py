"""Operators on quantised tensors, as onnxruntime writes them."""
