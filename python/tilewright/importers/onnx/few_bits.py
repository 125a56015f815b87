"""MatMulNBits of com.microsoft: a product with weights of a few bits in blocks, each with a scale."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call

_WIDTHS = (2, 4, 8)


def matmul_n_bits(call: Call, steps: Steps) -> None:
    """MatMulNBits: A * B' + bias, where B' is (B - zero point) * scale, computed at compile time in float32."""
    width, block = int(call.attribute("bits", 4)), int(call.attribute("block_size", 0))
    depth, columns = int(call.attribute("K", 0)), int(call.attribute("N", 0))
    if width not in _WIDTHS or block < 1 or block * width % 8 or min(depth, columns) < 1:
        raise Unsupported(f"{width} bits in blocks of {block} for {columns} columns of {depth}", "use 2, 4 or 8 bits")
    if call.has(4):
        raise Unsupported("an order of rows (g_idx)", "quantise without it")
    blocks = -(-depth // block)
    packed, scales = call.constant(1, "the weights"), call.constant(2, "the scales").astype(np.float32)
    if packed.shape != (columns, blocks, block * width // 8):
        raise Unsupported(
            f"weights of shape {list(packed.shape)} for {columns} columns of {blocks} blocks of {block * width // 8} "
            "bytes",
            "export the model again",
        )
    if scales.shape not in {(columns * blocks,), (columns, blocks)}:
        raise Unsupported(
            f"scales of shape {list(scales.shape)} for {columns} columns of {blocks} blocks", "export the model again"
        )
    stored = _unpacked(packed, width, (columns, blocks, block))
    points = _zero_points(call, width, columns, blocks)
    real = (stored.astype(np.float32) - points) * scales.reshape(columns, blocks, 1)
    matrix = np.ascontiguousarray(real.reshape(columns, -1)[:, :depth].T)
    product = steps("MatMul", call.real(0).name, steps.constant(matrix))
    steps.finish(steps("Add", product, call.operand(5)) if call.has(5) else product)


def _unpacked(packed: Array, width: int, shape: tuple[int, ...]) -> Array:
    """The integers of bytes, those in the lowest bits first."""
    each = 8 // width
    rows, wanted = int(np.prod(shape[:-1])), -(-shape[-1] // each)
    if packed.dtype != np.uint8 or packed.size != rows * wanted:
        raise Unsupported(f"{packed.size} bytes for {list(shape)} integers of {width} bits", "export the model again")
    shifts = np.arange(each, dtype=np.uint8) * width
    spread = (packed.reshape(rows, wanted, 1) >> shifts) & ((1 << width) - 1)
    integers: Array = spread.reshape(rows, -1)[:, : shape[-1]].reshape(shape)
    return integers


def _zero_points(call: Call, width: int, columns: int, blocks: int) -> Array:
    """One for each block: the middle of the range where they are left out; packed as the weights are, or float."""
    if not call.has(3):
        return np.full((1, 1, 1), 1 << (width - 1), np.float32)
    given = call.constant(3, "the zero points")
    if given.dtype != np.uint8:
        if given.size != columns * blocks:
            raise Unsupported(f"{given.size} zero points for {columns} columns of {blocks} blocks")
        return given.astype(np.float32).reshape(columns, blocks, 1)
    return _unpacked(given, width, (columns, blocks)).astype(np.float32)[..., None]


def few_bits(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the ONNX operators."""
    return with_steps(earlier, {"MatMulNBits": matmul_n_bits})
