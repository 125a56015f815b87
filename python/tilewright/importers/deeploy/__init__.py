"""Deeploy's dialect of ONNX."""
