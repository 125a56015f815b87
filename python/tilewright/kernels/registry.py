"""All kernels: the declarations in the folders of families. A file is read when one of its operators is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import MappingProxyType

from tilewright.graph import Graph, Node
from tilewright.kernels import index
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.liked_orders import ANY_ORDER, LikedOrder
from tilewright.kernels.own import OwnOperator
from tilewright.operators.nest import Dimension
from tilewright.plan import Core

SCALAR = "scalar"
"""The family of plain C kernels."""

XPULPV2 = "xpulpv2"
"""The family for cores with PULP's extensions: four products of bytes per instruction."""

RVV = "rvv"
"""The family for RISC-V cores with vectors (RVV 1.0, Zve32x and more) of at least 16 bytes."""

DSP = "dsp"
"""The family for Arm cores that multiply two pairs of halves per instruction (Armv7E-M, Armv8-M with DSP)."""

MVE = "mve"
"""The family for Arm cores with Helium, vectors of 16 bytes (Armv8.1-M with MVE)."""

WIDEST = Core(1, ())
"""One core with pointers of 64 bits, the widest that there are."""

FAMILIES = (SCALAR, XPULPV2, RVV, DSP, MVE)
"""All families; kernels/<family> is the folder of each."""


def declaration(file: str) -> Declaration:
    """The declaration of a file that ``index.KERNELS`` lists."""
    declared = import_module(f"tilewright.{file}").DECLARATION
    assert isinstance(declared, Declaration), file
    return declared


@cache
def all_declarations() -> Mapping[str, tuple[Declaration, ...]]:
    """The declarations of all files, by family, in the order of the files' names; reads every file."""
    return MappingProxyType({family: tuple(map(declaration, _operators_of_files(family))) for family in FAMILIES})


def _operators_of_files(family: str) -> dict[str, tuple[str, ...]]:
    """The part of ``index.KERNELS`` that has a family's files."""
    return {file: operators for file, operators in index.KERNELS.items() if file.split(".")[1] == family}


@cache
def _declarations(family: str, operator: str) -> tuple[Declaration, ...]:
    """Those of a family's declarations that have kernels for an operator; empty for an unknown family."""
    files = _operators_of_files(family)
    return tuple(declaration(file) for file, operators in files.items() if operator in operators)


def choices(
    node: Node, graph: Graph, families: tuple[str, ...] = (SCALAR,), core: Core = WIDEST
) -> tuple[KernelChoice, ...]:
    """Every kernel that can run the node on the core, best first: families in order, then files by name.

    An unknown family has no kernels. The result is empty for views, and for nodes that no kernel supports.
    A project's own operator (``graph.extensions``) has its own kernels, whatever the families.
    """
    own = graph.extensions.get(node.operator)
    if isinstance(own, OwnOperator):
        return tuple(map(_with_a_dimension, own.kernels(node, graph)))
    found = _declared_choices(node, graph, families, core, is_fallback=False)
    if not found:
        found = _declared_choices(node, graph, families, core, is_fallback=True)
    return tuple(map(_with_a_dimension, found))


def liked_order(node: Node, graph: Graph, families: tuple[str, ...] = (SCALAR,), core: Core = WIDEST) -> LikedOrder:
    """The memory order that the kernel likes that stands first among ``choices``; any for a node without kernels."""
    found = choices(node, graph, families, core)
    return found[0].kernel.likes if found else ANY_ORDER


def _declared_choices(
    node: Node, graph: Graph, families: tuple[str, ...], core: Core, *, is_fallback: bool
) -> tuple[KernelChoice, ...]:
    return tuple(
        choice
        for family in families
        for declared in _declarations(family, node.operator)
        if declared.is_fallback is is_fallback
        for choice in declared.choices(node, graph, core)
    )


def _with_a_dimension(choice: KernelChoice) -> KernelChoice:
    """The choice with at least one dimension, as tiling wants it: a nest of a scalar gets one of extent 1."""
    if choice.nest.dimensions:
        return choice
    return replace(choice, nest=replace(choice.nest, dimensions=(Dimension("d0", 1),)))
