"""Functions of one 8-bit tensor become a table of 256 results.

Before:  x int8 -> Dequantize -> Sigmoid -> Mul by the same Dequantize -> Quantize -> y int8
After:   x int8 -> Lookup -> y int8

The table holds what the float32 operators give for each of the 256 values. Where the function also reads a table of
the same tensor, or reads nothing but a table, the tables become one:

Before:  s int8 = Lookup(x), y int8 = Quantize(Mul(Dequantize(x), Dequantize(s)))       (x * sigmoid(x), quantised)
After:   y int8 = Lookup(x)
"""

from __future__ import annotations

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Array, DType, Node, Tensor
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.importers.qdq.match import EIGHT_BIT, per_tensor, quantized
from tilewright.operators.quantization import QuantizationAttributes


class _NoTable(Exception):
    """The tensor is not a function of one 8-bit tensor."""


class _Evaluation:
    """The 256 values of tensors that are functions of one source.

    ``through_tables``: whether the source is what the tables read that were made before, instead of their output.
    """

    def __init__(self, editor: GraphEditor, through_tables: bool) -> None:
        self._editor = editor
        self._through_tables = through_tables
        self.source: Tensor | None = None
        self._known: dict[str, Array] = {}

    def of(self, name: str) -> Array:
        """Float32 values of a tensor: one, or one for each value of the source."""
        if name not in self._known:
            with np.errstate(all="ignore"):
                self._known[name] = self._compute(name).astype(np.float32)
        return self._known[name]

    def _compute(self, name: str) -> Array:
        tensor = self._editor.tensors[name]
        if tensor.data is not None and tensor.elements == 1 and tensor.data.dtype.kind == "f":
            return tensor.data.reshape(1)
        entry = quantized(self._editor, name)
        if entry is not None:
            if entry.tensor.is_constant:
                return self._constant(entry.tensor, entry.scale, entry.zero_point)
            return _real(self._stored(entry.tensor), entry.scale, entry.zero_point)
        node = self._editor.producer(name)
        if node is None or node.epilogue is not None:
            raise _NoTable
        return self._apply(node, tensor)

    def _stored(self, tensor: Tensor) -> Array:
        """The stored integers of an 8-bit tensor for each value of the source, which is this tensor or before it."""
        table = _table_of(self._editor, tensor) if self._through_tables else None
        if table is not None:
            before, results = table
            stored = self._stored(before)
            looked_up: Array = results[stored - np.iinfo(before.dtype.numpy).min].astype(np.int64)
            return looked_up
        if self.source is not None and tensor.name != self.source.name:
            raise _NoTable
        self.source = tensor
        limits = np.iinfo(tensor.dtype.numpy)
        return np.arange(limits.min, limits.max + 1)

    def _constant(self, tensor: Tensor, scale: float, zero_point: int) -> Array:
        if tensor.data is None or tensor.elements != 1:
            raise _NoTable
        return _real(tensor.data.reshape(1).astype(np.int64), scale, zero_point)

    def _apply(self, node: Node, output: Tensor) -> Array:
        function = declared(node).function
        if function is None or output.dtype is not DType.FLOAT32:
            raise _NoTable
        operands = [self.of(name).astype(np.float64) for name in node.inputs]
        if len(operands) > 1 and (self.source is None or self.source.shape != output.shape):
            raise _NoTable
        return function(node, *operands)


def lookup_instead(editor: GraphEditor, quantize: Node) -> bool:
    """Replace Quantize of a function of one 8-bit tensor by Lookup; False where it is no such function."""
    output = editor.tensors[quantize.outputs[0]]
    if output.dtype not in EIGHT_BIT or not per_tensor(quantize):
        return False
    found = _evaluated(editor, quantize, through_tables=False)
    if found is None or _is_read_by_one(editor, found[0]):
        found = _evaluated(editor, quantize, through_tables=True) or found
    if found is None:
        return False
    source, real = found
    table = editor.constant(f"{output.name}/table", _stored(real, quantize, output))
    node = make_node("Lookup", [source.name, table.name], [output.name], name=quantize.name, sources=quantize.sources)
    editor.replace(quantize, node)
    return True


def _evaluated(editor: GraphEditor, quantize: Node, through_tables: bool) -> tuple[Tensor, Array] | None:
    """The 8-bit tensor of which the input of a Quantize is a function, and the function's 256 values."""
    evaluation = _Evaluation(editor, through_tables)
    try:
        real = evaluation.of(quantize.inputs[0])
    except _NoTable:
        return None
    source = evaluation.source
    if source is None or source.shape != editor.tensors[quantize.outputs[0]].shape or real.size != 256:
        return None
    return source, real


def _is_read_by_one(editor: GraphEditor, stored: Tensor) -> bool:
    """Whether a tensor is dequantised once, for one node: then nobody needs it where that node reads something else."""
    dequantize = editor.sole_reader(stored.name)
    return dequantize is not None and editor.sole_reader(dequantize.outputs[0]) is not None


def _table_of(editor: GraphEditor, tensor: Tensor) -> tuple[Tensor, Array] | None:
    """If a Lookup writes ``tensor``: the tensor that it reads, and the table of its 256 results."""
    node = editor.producer(tensor.name)
    if node is None or node.operator != "Lookup":
        return None
    results = editor.tensors[node.inputs[1]].data
    return None if results is None else (editor.tensors[node.inputs[0]], results)


def _real(stored: Array, scale: float, zero_point: int) -> Array:
    """DequantizeLinear."""
    real: Array = (stored - zero_point).astype(np.float32) * np.float32(scale)
    return real


def _stored(real: Array, quantize: Node, output: Tensor) -> Array:
    """QuantizeLinear of float32 values; NaN becomes the zero point."""
    limits, given = np.iinfo(output.dtype.numpy), quantize.given(QuantizationAttributes)
    with np.errstate(all="ignore"):
        steps = np.rint(real / np.float32(given.scale[0])).astype(np.float64)
    steps = np.nan_to_num(steps, nan=0.0, posinf=np.inf, neginf=-np.inf) + given.zero_point[0]
    stored: Array = np.clip(steps, limits.min, limits.max).astype(output.dtype.numpy)
    return stored
