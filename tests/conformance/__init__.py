"""ONNX's own node cases through the whole pipeline: import, plan, C, execution under sanitizers."""
