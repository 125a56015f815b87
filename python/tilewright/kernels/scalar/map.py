"""Elementwise functions: one C walker over rows, with a C file for each operator and a function for each type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32x4, Int32, RowFunction
from tilewright.kernels.c_structs import snake as snake_of
from tilewright.kernels.float_common import fits_rank
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice
from tilewright.kernels.scalar.elementwise_float import elementwise, elementwise_kernel
from tilewright.operators.map import FUNCTIONS, parameters

SUFFIX: Mapping[DType, str] = MappingProxyType(
    {
        DType.FLOAT32: "f32",
        DType.INT8: "i8",
        DType.UINT8: "u8",
        DType.INT16: "i16",
        DType.UINT16: "u16",
        DType.INT32: "i32",
        DType.UINT32: "u32",
        DType.INT64: "i64",
        DType.BOOL: "b8",
    }
)
_FLOAT = frozenset({"f32"})
_BOOL = frozenset({"b8"})
_INTEGERS = frozenset({"i8", "u8", "i16", "u16", "i32", "u32", "i64"})
_NUMBERS = _FLOAT | _INTEGERS

_TYPES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(("Abs", "Neg", "Sign", "Min", "Max", "Mod", "FMod", "PRelu"), _NUMBERS),
        **dict.fromkeys(("Not", "And", "Or", "Xor"), _BOOL),
        **dict.fromkeys(("Equal", "Less", "LessOrEqual"), _NUMBERS | _BOOL),
        **dict.fromkeys(("BitwiseNot", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "ShiftLeft", "ShiftRight"), _INTEGERS),
        **dict.fromkeys(("AddInteger", "SubInteger", "MulInteger", "DivInteger"), _INTEGERS),
    }
)


@dataclass(frozen=True, slots=True)
class Map(CStruct):
    """y = row(inputs); axes of extent 1 broadcast. Operands: the inputs, y, all with six axes."""

    row: RowFunction
    operands: Annotated[Int32, "the output counts, and comes last"]
    parameters: Float32x4


_OPERATORS = tuple(operator for operator in FUNCTIONS if operator != "Expand")
"""The operators of this file; Expand is a copy (movement.py)."""

_CYCLES: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys((*_TYPES, "Where", "Cast", "IsInf"), 12.0),
        **dict.fromkeys(("Abs", "Neg", "Sqrt", "Reciprocal", "Softsign"), 8.0),
        "ThresholdedRelu": 9.0,
        "IsNaN": 10.0,
        "Sign": 10.5,
        "Shrink": 13.0,
        "DivInteger": 14.0,
        "Mod": 18.0,
        "Elu": 22.0,
        "Celu": 22.5,
        "Selu": 24.0,
        "Floor": 25.0,
        "Ceil": 25.0,
        "Mish": 37.0,
        "Round": 46.0,
        "Log": 76.0,
        "Atan": 83.0,
        "Exp": 95.0,
        "Cosh": 129.0,
        "Sinh": 139.0,
        "Tan": 160.0,
        "Pow": 190.0,
        "Erf": 200.0,
        "Softplus": 200.0,
    }
)
"""Of an element on a core with FPU; all others call a function of the library, for ``_LIBRARY_CYCLES``."""

_LIBRARY_CYCLES = 120.0
_CALLED = MappingProxyType(
    {"Sqrt": "tilewright_map_sqrt", "Reciprocal": "tilewright_map_quotient", "Softsign": "tilewright_map_quotient"}
)
"""Names in a platform's costs, since cores whose floats lack an instruction call functions for them."""


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The walker with the row function of the node's operator and types."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    row = _row(node, graph)
    if row is None or node.epilogue is not None or not fits_rank(graph, names):
        return ()
    file, function = row
    values = tuple(map(float, parameters(node)))
    attributes = Map(f"tilewright_map_{function}", len(names), (*values, *(0.0,) * (4 - len(values))))
    choice = elementwise(node, graph, _kernel_of(_CYCLES.get(node.operator, _LIBRARY_CYCLES)), attributes)
    called = _CALLED.get(node.operator, "")
    return (replace(choice, sources=("map.c", f"map_{file}.c", "walk.c"), called=called),)


@cache
def _kernel_of(cycles: float) -> Kernel:
    return elementwise_kernel("map", Map, cycles)


def snake(name: str) -> str:
    """The C name for an operator's name in CamelCase."""
    special = {"IsNaN": "is_nan", "PRelu": "prelu", "FMod": "fmod"}
    return special.get(name) or snake_of(name)


def _row(node: Node, graph: Graph) -> tuple[str, str] | None:
    """Stem of the C file and name of the row function, both without prefix; None if C has no such function."""
    inputs = [graph.tensor(name).dtype for name in node.inputs]
    suffixes = [SUFFIX[dtype] for dtype in inputs]
    output = SUFFIX[graph.tensor(node.outputs[0]).dtype]
    if node.operator == "Where":
        size = inputs[1].size_bytes
        return ("where", f"where_{size}") if inputs[0] is DType.BOOL and inputs[1] is inputs[2] else None
    if node.operator == "Cast":
        return f"cast_{output}", f"cast_{output}_{suffixes[0]}"
    if node.operator == "QuantizeByOperand":
        return ("quantize", f"quantize_{output}") if output in ("i8", "u8") else None
    if node.operator == "Pow":
        return _power(suffixes)
    if len(set(suffixes)) != 1 or suffixes[0] not in _TYPES.get(node.operator, _FLOAT):
        return None
    name = snake(node.operator.removesuffix("Integer"))
    return name, f"{name}_{suffixes[0]}"


def _power(suffixes: list[str]) -> tuple[str, str] | None:
    base, exponent = suffixes
    if base == exponent and base in _NUMBERS:
        return "pow", f"pow_{base}"
    return ("pow", f"pow_{base}_f32") if base in ("i32", "i64") and exponent == "f32" else None


def _rows() -> tuple[str, ...]:
    """Names of all row functions in C."""
    special = {
        "Where": [f"where_{size}" for size in (1, 2, 4, 8)],
        "Cast": [f"cast_{target}_{source}" for target in SUFFIX.values() for source in SUFFIX.values()],
        "QuantizeByOperand": ["quantize_i8", "quantize_u8"],
        "Pow": [*(f"pow_{name}" for name in SUFFIX.values() if name in _NUMBERS), "pow_i32_f32", "pow_i64_f32"],
    }
    rows = ["add_f32", "mul_f32"]
    for operator in _OPERATORS:
        types = [name for name in SUFFIX.values() if name in _TYPES.get(operator, _FLOAT)]
        rows += special.get(operator) or [f"{snake(operator.removesuffix('Integer'))}_{name}" for name in types]
    return tuple(f"map_{row}" for row in rows)


DECLARATION = Declaration(
    operators=dict.fromkeys(_OPERATORS, choices),
    kernels=tuple(map(_kernel_of, sorted({*_CYCLES.values(), _LIBRARY_CYCLES}))),
    pointed={"tilewright_row_body": _rows()},
    stack_bytes={
        "map_add_f32": 544,
        "map_cos_f32": 880,
        "map_max_f32": 544,
        "map_min_f32": 544,
        "map_mul_f32": 560,
        "map_pow_i32_f32": 544,
        "map_pow_i64_f32": 560,
        "map_sin_f32": 880,
        "map_tan_f32": 880,
    },
)
