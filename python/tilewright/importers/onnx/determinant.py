"""Det of small matrices: the sum over all permutations, as gathered products and one product with their signs."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call

_MOST_ROWS = 5
"""The most rows of a matrix; six rows would have 720 permutations."""


def det(call: Call, steps: Steps) -> None:
    """The determinant of each matrix of at most five rows."""
    x = call.real(0)
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise Unsupported(f"the determinant of {list(x.shape)}", "matrices have as many rows as columns")
    rows = x.shape[-1]
    if rows > _MOST_ROWS:
        raise Unsupported(f"the determinant of matrices with {rows} rows", f"at most {_MOST_ROWS} rows are supported")
    matrices = x.elements // (rows * rows)
    flat = steps.reshape(x.name, matrices, rows * rows)
    orders = np.asarray(list(permutations(range(rows))), np.int64)
    product = ""
    for row in range(rows):
        factor = steps("Gather", flat, steps.constant(row * rows + orders[:, row], np.int64), axis=1)
        product = steps("Mul", product, factor) if product else factor
    signs = [(-1.0) ** sum(a > b for a, b in combinations(order, 2)) for order in orders.tolist()]
    total = steps("MatMul", product, steps.constant(np.asarray(signs).reshape(-1, 1)))
    steps.finish(steps.reshape(total, *x.shape[:-2]))
