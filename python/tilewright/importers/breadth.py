"""Translators of the operators beyond those of convolutional networks, and of further element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.importers.context import Call
from tilewright.importers.einsum import einsum
from tilewright.importers.elementwise import elementwise
from tilewright.importers.indexing import INDEXING
from tilewright.importers.normalization import NORMALIZATION, batch_normalization
from tilewright.importers.quantize_any import quantize_any
from tilewright.importers.rearrange import rearrange
from tilewright.importers.recurrent import RECURRENT
from tilewright.importers.reduction import REDUCTION
from tilewright.importers.resize import RESIZE
from tilewright.importers.windows import windows

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
        **windows(earlier),
        "Einsum": einsum,
        "BatchNormalization": lambda call: batch_normalization(call, earlier["BatchNormalization"]),
    }
