"""The inputs of a model: their extents, as the file and the user say them, and those without elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.base.errors import bad_input
from tilewright.graph import variable
from tilewright.importers.construction import Construction, Unsupported, checked, dtype_named
from tilewright.importers.onnx.source import SourceModel, SourceValue
from tilewright.importers.problems import Problem

_EVERY = "*"
"""Stands in DIMS for every dynamic dimension that has no value of its own."""


def for_each_dimension(model: SourceModel, dims: Mapping[str, int]) -> Mapping[str, int]:
    """The value of ``*`` for each dynamic dimension of an input that has no value of its own; the others as given."""
    if _EVERY not in dims:
        return dims
    others = {name: extent for name, extent in dims.items() if name != _EVERY}
    dynamic = {
        dim if isinstance(dim, str) else f"{value.name}.{axis}": dims[_EVERY]
        for value in model.inputs
        for axis, dim in enumerate(value.shape or ())
        if not isinstance(dim, int)
    }
    return {**dynamic, **others}


def without_empty_inputs(model: SourceModel, dims: Mapping[str, int]) -> SourceModel:
    """The model without inputs of extent 0 that are only concatenated: caches at the first step."""
    concatenated = {name for node in model.nodes if node.operator == "Concat" for name in node.inputs}
    others = {name for node in model.nodes if node.operator != "Concat" for name in node.inputs}
    empty = {}
    for value in model.inputs:
        given = any(f"{value.name}.{axis}" in dims for axis in range(len(value.shape or ())))
        extents = [extent for extent in value.shape or () if isinstance(extent, int)]
        if 0 not in extents or len(extents) != len(value.shape or ()) or given:
            continue
        if value.name in concatenated - others and value.name not in model.outputs:
            empty[value.name] = np.zeros(extents, np.float32)
    inputs = tuple(value for value in model.inputs if value.name not in empty)
    return replace(model, inputs=inputs, constants={**model.constants, **empty})


def add_inputs(model: SourceModel, dims: Mapping[str, int], build: Construction, problems: list[Problem]) -> set[str]:
    """Add the graph's inputs; gives the names of those without a known shape. Raises bad_input for an unused ``dims``.

    An input without elements is a constant: nothing has to be known of its values.
    """
    symbols: set[str] = set()
    unknown = set()
    parameters = _parameters(model)
    for value in model.inputs:
        place = f"input '{value.name}'"
        try:
            shape = _static_shape(value, dims, symbols)
            dtype = dtype_named(value.element_type)
            if 0 in shape:
                build.constants[value.name] = np.zeros(shape, dtype.numpy)
            else:
                build.tensors[value.name] = checked(variable(value.name, dtype, shape))
        except Unsupported as problem:
            remedy = f"{problem.help}; {_left_open(value.name)}" if value.name in parameters else problem.help
            problems.append(Problem(place, problem.reason, remedy))
            unknown.add(value.name)
    for symbol in dims:
        if symbol not in symbols:
            raise bad_input(
                "unknown-dimension",
                f"the model has no dynamic dimension '{symbol}'",
                at=model.file,
                help="dimensions: " + (", ".join(sorted(symbols)) or "none is dynamic"),
            )
    return unknown


def _static_shape(value: SourceValue, dims: Mapping[str, int], symbols: set[str]) -> tuple[int, ...]:
    if value.shape is None:
        raise Unsupported("no shape", "give the input a shape in the model")
    names = [dim if isinstance(dim, str) else f"{value.name}.{axis}" for axis, dim in enumerate(value.shape)]
    dynamic = [name for name, dim in zip(names, value.shape, strict=True) if not isinstance(dim, int) or dim == 0]
    symbols.update(dynamic)
    missing = [name for name in dynamic if name not in dims]
    empty = [name for name, dim in zip(names, value.shape, strict=True) if dim == 0 and name in missing]
    if empty:
        what = f"extent 0 ({', '.join(empty)}): an input without elements"
        asked, none = _extents_asked(missing), " ".join(f"{name}=0" for name in empty)
        raise Unsupported(what, f"if 0 stands for an extent that was not known: DIMS {asked}; if not: DIMS {none}")
    if missing:
        raise Unsupported(
            f"dynamic dimension {', '.join(missing)} without a value",
            f"DIMS {_extents_asked(missing)}, or DIMS {_EVERY}=1 for 1 in the place of each dynamic dimension",
        )
    for name in dynamic:
        if dims[name] < 0:
            raise bad_input("dimension", f"dimension '{name}' is {dims[name]}", help=f"DIMS {name}=<positive number>")
    return tuple(dims[name] if name in dynamic else int(dim or 0) for name, dim in zip(names, value.shape, strict=True))


def _parameters(model: SourceModel) -> set[str]:
    """Inputs that are only subtracted from another tensor or divide one, or whose roots do.

    The mean and the deviation in Keras's Normalization are such inputs, where an exporter leaves them open.
    """
    others: set[str] = set()
    found: set[str] = set()
    for node in reversed(model.nodes):
        taken = node.operator in ("Sub", "Div") and len(node.inputs) == 2
        passed = node.operator in ("Sqrt", "Max") and set(node.outputs) <= found - others
        for number, name in enumerate(node.inputs):
            (found if passed or (taken and number == 1) else others).add(name)
    return {value.name for value in model.inputs} & found - others - set(model.outputs)


def _left_open(name: str) -> str:
    return (
        f"if '{name}' is a constant that the exporter left open, as the mean and the deviation of Keras's "
        f'Normalization: freeze it (freeze = "<file.npz>" in the options file)'
    )


def _extents_asked(names: Sequence[str]) -> str:
    return " ".join(f"{name}=<n>" for name in names)
