"""Elementwise functions as rows of one walker: one C file for each operator, one function for each type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tilewright.graph import DType, Graph, Node
from tilewright.kernels.float_common import fits_rank
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar import movement
from tilewright.kernels.scalar.elementwise_float import elementwise
from tilewright.operators.map import parameters

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
_SIMPLE_CYCLES = 12.0
_COSTLY_CYCLES = 120.0
_CHEAP = frozenset(_TYPES) | {"Where", "Cast", "Floor", "Ceil", "Round", "IsNaN", "IsInf", "ThresholdedRelu", "Shrink"}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The walker with the row function of the node's operator and types."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    row = _row(node, graph)
    if row is None or node.epilogue is not None or not fits_rank(graph, names):
        return ()
    file, function = row
    values = tuple(map(float, parameters(node)))
    attributes = (
        ("row", f"tilewright_map_{function}"),
        ("operands", len(names)),
        ("parameters", (*values, *(0.0,) * (4 - len(values)))),
    )
    cycles = _SIMPLE_CYCLES if node.operator in _CHEAP else _COSTLY_CYCLES
    choice = elementwise(node, graph, "map", attributes, cycles)
    return (replace(choice, sources=("map.c", f"map_{file}.c", "walk.c")),)


def expand(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Expand is a copy whose input has axes of extent 1."""
    return movement.copy(node, graph)


def snake(name: str) -> str:
    """CamelCase as C names it."""
    special = {"IsNaN": "is_nan", "PRelu": "prelu", "FMod": "fmod"}
    return special.get(name, re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())


def _row(node: Node, graph: Graph) -> tuple[str, str] | None:
    """File stem and row function, both without their prefix; None where there is no such function."""
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
