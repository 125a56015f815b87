"""Who else computes a model: ONNX Runtime, ONNX's reference evaluator, TensorFlow Lite Micro, or our references."""
