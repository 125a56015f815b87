"""Translators of the operators beyond those of convolutional networks, and of further element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.importers.onnx import integer_matmul
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.einsum import einsum
from tilewright.importers.onnx.elementwise import elementwise, wrapped
from tilewright.importers.onnx.indexing import INDEXING
from tilewright.importers.onnx.normalization import NORMALIZATION, batch_normalization
from tilewright.importers.onnx.quantize_any import quantize_any
from tilewright.importers.onnx.rearrange import rearrange
from tilewright.importers.onnx.recurrent import RECURRENT
from tilewright.importers.onnx.reduction import REDUCTION
from tilewright.importers.onnx.resize import RESIZE
from tilewright.importers.onnx.spatial_breadth import window_operators

Translators = Mapping[str, Callable[[Call], None]]


def breadth(earlier: Translators) -> Translators:
    """Translators by ONNX operator; ``earlier`` has those that some of them fall back on."""
    return {
        **elementwise(earlier),
        **REDUCTION,
        **INDEXING,
        **RECURRENT,
        **RESIZE,
        **NORMALIZATION,
        **quantize_any(earlier),
        **rearrange(earlier),
        **window_operators(earlier),
        "Einsum": einsum,
        "Gemm": wrapped(integer_matmul.gemm, earlier["Gemm"]),
        "MatMul": wrapped(integer_matmul.matmul, earlier["MatMul"]),
        "BatchNormalization": lambda call: batch_normalization(call, earlier["BatchNormalization"]),
    }
