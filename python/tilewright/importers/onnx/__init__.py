"""ONNX operators as nodes of the graph."""
