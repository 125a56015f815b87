"""Inputs and outputs as real numbers where the model stores integers: the dual of ``quantized_interface``.

Before:  x int8 -> ... -> y int8
After:   x float32 -> Quantize -> x/stored int8 -> ... -> y/stored int8 -> Dequantize -> y float32
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from tilewright.graph import DType, Graph, Tensor
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.operators.quantization import QuantizationAttributes


def float_interface(graph: Graph, states: Container[str]) -> Graph:
    """The graph with float32 for each input and output that stores quantised integers.

    Tensors of ``states`` keep their types, and so do integers without a scale.
    """
    editor = GraphEditor(graph)
    for name in (name for name in graph.inputs if name not in states):
        tensor = editor.tensors[name]
        if _is_quantized(tensor):
            readers = editor.readers(name)
            stored = editor.variable(tensor, f"{name}/stored")
            editor.redirect(name, stored.name, readers)
            editor.tensors[name] = replace(tensor, dtype=DType.FLOAT32, quantization=None)
            editor.add(make_node("Quantize", [name], [stored.name], attributes=_parameters(tensor)))
    for name in (name for name in graph.outputs if name not in states):
        tensor, producer = editor.tensors[name], editor.producer(name)
        if _is_quantized(tensor) and producer is not None:
            stored = editor.variable(tensor, f"{name}/stored")
            outputs = tuple(stored.name if output == name else output for output in producer.outputs)
            readers = editor.readers(name)
            editor.replace(producer, replace(producer, outputs=outputs))
            editor.redirect(name, stored.name, readers)
            editor.tensors[name] = replace(tensor, dtype=DType.FLOAT32, quantization=None)
            editor.add(make_node("Dequantize", [stored.name], [name], attributes=_parameters(tensor)))
    return editor.graph()


def _is_quantized(tensor: Tensor) -> bool:
    return tensor.quantization is not None and tensor.dtype.is_integer


def _parameters(tensor: Tensor) -> QuantizationAttributes:
    quantization = tensor.quantization
    assert quantization is not None
    return QuantizationAttributes(quantization.scale, quantization.zero_point, quantization.axis)
