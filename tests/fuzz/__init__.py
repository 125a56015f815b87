"""Spoilt ONNX files: whatever a file says, the answer is C that compiles or an error that says what is wrong."""
