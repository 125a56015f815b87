"""The operators of ONNX's default domain beyond those of convolutional networks."""

from __future__ import annotations

from tilewright.operators.indexing import INDEXING
from tilewright.operators.line import LINE
from tilewright.operators.map import MAP
from tilewright.operators.recurrent import RECURRENT
from tilewright.operators.reduction import REDUCTION
from tilewright.operators.windows import WINDOWS

BREADTH = (*MAP, *REDUCTION, *LINE, *INDEXING, *WINDOWS, *RECURRENT)
