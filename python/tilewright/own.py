"""Operators that a firmware project brings along: everything its Python file needs, and how it is read.

A file declares ``OPERATORS``, a sequence of ``OwnOperator``; docs/how-to/add-an-operator.md
has a complete one. A package offers the same under an entry point of group ``tilewright.operators``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import ParamSpec, TypeVar

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_utf8
from tilewright.catalogue.operators import OPERATORS
from tilewright.graph import Array, Attributes, DType, Graph, Node, Tensor
from tilewright.kernels.kernel import ConstantOperand, Kernel, KernelChoice, Packing, TensorOperand, TileSteps
from tilewright.kernels.own import Infer, Outputs, OwnOperator, operands_of
from tilewright.operators.elementwise import broadcast_maps, dimensions_of, identity_maps
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.nest import AxisMap, Dimension, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, operand, optional_operand

__all__ = [
    "Array",
    "Arrays",
    "Attributes",
    "AxisMap",
    "ConstantOperand",
    "DType",
    "Dimension",
    "Graph",
    "Infer",
    "Iteration",
    "Kernel",
    "KernelChoice",
    "Nest",
    "Node",
    "Outputs",
    "OwnOperator",
    "Packing",
    "Tensor",
    "TensorOperand",
    "TileSteps",
    "along",
    "broadcast_maps",
    "dimensions_of",
    "elementwise_nest",
    "identity_maps",
    "load_operators",
    "operand",
    "operands_of",
    "optional_operand",
    "whole",
]

ENTRY_POINTS = "tilewright.operators"
_ATTRIBUTE = "OPERATORS"

P = ParamSpec("P")
R = TypeVar("R")


def load_operators(references: Iterable[str]) -> tuple[OwnOperator, ...]:
    """The operators of Python files (``*.py``) and of entry points, in order.

    Raises:
        TilewrightError (bad input): a file is missing or does not run, there is no such entry point,
            OPERATORS is absent or something else, an operator is declared twice, or is one of Tilewright's.
    """
    found: dict[tuple[str, str], OwnOperator] = {}
    for reference in references:
        for operator in _declared(reference):
            key = (operator.domain, operator.name)
            if key in found:
                raise bad_input("own-operator", f"operator '{operator.name}' is declared twice", at=reference)
            if not operator.domain and operator.name in OPERATORS:
                what = f"'{operator.name}' is an operator of Tilewright"
                raise bad_input("own-operator", what, at=reference, help="give yours a domain")
            found[key] = operator
    return tuple(found.values())


def _declared(reference: str) -> Iterator[OwnOperator]:
    module = _module_of_file(Path(reference)) if reference.endswith(".py") else _entry_point(reference)
    operators = getattr(module, _ATTRIBUTE, None)
    if not isinstance(operators, (list, tuple)) or not all(isinstance(item, OwnOperator) for item in operators):
        raise bad_input(
            "own-operator",
            f"'{reference}' does not declare {_ATTRIBUTE}",
            help=f"{_ATTRIBUTE} = (OwnOperator(...),), as docs/how-to/add-an-operator.md shows",
        )
    for operator in operators:
        yield _guarded(operator, reference)


def _module_of_file(path: Path) -> ModuleType:
    """Run the file as a module, without Python's import, which would write compiled code beside it."""
    try:
        text = read_utf8(path)
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input("own-operator", f"cannot read '{path}': {error}", help="check OPERATORS") from None
    module = ModuleType(f"tilewright_own_{path.stem}")
    module.__file__ = str(path)
    # Dataclasses look their module up there.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except Exception as error:  # a declaration of the project may raise anything
        raise _failed(str(path), error) from error
    return module


def _entry_point(name: str) -> object:
    offered = entry_points(group=ENTRY_POINTS)
    if name not in offered.names:
        known = ", ".join(sorted(offered.names)) or "none is installed"
        raise bad_input(
            "own-operator",
            f"there is no entry point '{name}' of group '{ENTRY_POINTS}'",
            help=f"entry points: {known}; a file ends with .py",
        )
    try:
        return offered[name].load()
    except Exception as error:  # what a package offers may fail at import in any way
        raise _failed(name, error) from error


def _guarded(operator: OwnOperator, reference: str) -> OwnOperator:
    """The operator with functions whose exceptions name the project's file; ValueError of ``infer`` is a refusal."""
    where = f"{reference} ({operator.name})"
    return replace(
        operator,
        infer=_reporting(operator.infer, where, (ValueError,)),
        nest=_reporting(operator.nest, where),
        reference=_reporting(operator.reference, where),
        kernels=_reporting(operator.kernels, where),
    )


def _reporting(function: Callable[P, R], where: str, passed: tuple[type[Exception], ...] = ()) -> Callable[P, R]:
    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except TilewrightError:
            raise
        except Exception as error:  # own rules may raise anything; it is told with their file and line
            if isinstance(error, passed):
                raise
            raise _failed(where, error) from error

    return call


def _failed(where: str, error: Exception) -> TilewrightError:
    line = error.__traceback__
    while line is not None and line.tb_next is not None:
        line = line.tb_next
    place = f", line {line.tb_lineno} of {Path(line.tb_frame.f_code.co_filename).name}" if line is not None else ""
    return bad_input("own-operator", f"{type(error).__name__}: {error}", at=f"{where}{place}")
