"""LiteRT models (.tflite): from the file to a graph with the integer arithmetic of TensorFlow Lite Micro."""
