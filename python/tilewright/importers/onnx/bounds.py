"""Tensors of which only a first part is real: entries that operators find, up to a bound that the user declares.

A node that computes each entry by itself gives a tensor with as many real entries. A node that would mix real entries
with the others, or count them, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewright.base.errors import bad_input, suggestion
from tilewright.catalogue.operators import OPERATORS
from tilewright.graph import Bounded, Graph, Node
from tilewright.importers.construction import Construction, Unsupported
from tilewright.operators.nest import AxisMap, Iteration, Nest

_HELP = (
    "end the model before it, and compute the rest in C from the entries that the count says; a bound leaves room for "
    "entries that are not there"
)


def follow(build: Construction, first: int) -> None:
    """Note the bounded tensors among those that the nodes from number ``first`` on write.

    Raises:
        Unsupported: a node whose results would depend on entries that are not real.
    """
    if not build.bounded:
        return
    graph = Graph("", (), build.tensors, (), ())
    for node in build.nodes[first:]:
        read = [name for name in node.inputs if name in build.bounded]
        if read:
            axes = _reshaped(node, graph, build) if node.operator == "Reshape" else _followed(node, graph, build)
            for name, axis in zip(node.outputs, axes, strict=True):
                build.bounded[name] = Bounded(axis, build.bounded[read[0]].count)


def require_no_constants(inputs: Sequence[str], outputs: Sequence[str], build: Construction) -> None:
    """Raise Unsupported where a node makes constants of the extents of bounded operands."""
    name = next((name for name in inputs if name in build.bounded), "")
    if name and any(output in build.constants for output in outputs):
        raise _mixes(name, build)


def require_known_extents(name: str, axes: range, build: Construction) -> None:
    """Raise Unsupported where the extent of a bounded axis is asked for: it is known at run time only."""
    bounded = build.bounded.get(name)
    if bounded is not None and bounded.axis in axes:
        what = f"it asks for the extent of '{name}' on axis {bounded.axis}, which is known at run time only"
        raise Unsupported(what, _HELP)


def require_used(build: Construction, file: str) -> None:
    """Raise bad_input for a bound of a tensor that needs none."""
    for name in build.bounds:
        if name not in build.bounded:
            what = f"BOUND names '{name}', which is no output of NonMaxSuppression, NonZero, Unique or Compress"
            raise bad_input("unknown-tensor", what, at=file, help=_remedy(name, build))


def _remedy(name: str, build: Construction) -> str:
    """The remedy for a bound of a tensor that needs none."""
    if name in build.constants:
        return "it is computed at compile time: leave the bound out"
    return suggestion(name, build.bounded) if build.bounded else "nothing needs a bound in this model: leave it out"


def _mixes(name: str, build: Construction) -> Unsupported:
    bounded = build.bounded[name]
    extent = build.tensor(name).shape[bounded.axis]
    some = "" if extent > 1 else "; a bound of at least 2 tells the axis from others"
    what = f"its results would depend on all {extent} entries of '{name}', of which '{bounded.count}' are real"
    return Unsupported(what, _HELP + some)


def _reshaped(node: Node, graph: Graph, build: Construction) -> list[int]:
    """The axis of the output that has as many entries, each of them as long as before and as far in front."""
    name = node.inputs[0]
    axis, before = build.bounded[name].axis, graph.tensor(name).shape
    after = graph.tensor(node.outputs[0]).shape
    wanted = prod(before[:axis]), before[axis]
    found = [number for number, extent in enumerate(after) if (prod(after[:number]), extent) == wanted]
    if before == after:
        return [axis]
    if len(found) != 1:
        raise _mixes(name, build)
    return found


def _followed(node: Node, graph: Graph, build: Construction) -> list[int]:
    """For each output the axis on which its entries follow those of the bounded inputs, one by one."""
    name = next(name for name in node.inputs if name in build.bounded)
    operator = OPERATORS.get(node.operator)
    if operator is None:
        raise _mixes(name, build)
    nest = operator.nest(node, graph)
    dimension = _dimension(node, nest, name, build)
    operands = zip((*node.inputs, *node.outputs), (*nest.reads, *nest.writes), strict=True)
    axes = [list(_axes_along(maps, dimension)) for _, maps in operands]
    for operand, found in zip(node.inputs, axes, strict=False):
        bounded = build.bounded.get(operand)
        wanted = [bounded.axis] if bounded else []
        # Entries of a tensor that has as many of its own would stand beside entries that are not there.
        if found != wanted or (bounded and bounded.count != build.bounded[name].count):
            raise _mixes(name, build)
    written = axes[len(node.inputs) :]
    if any(len(found) != 1 for found in written):
        raise _mixes(name, build)
    return [found[0] for found in written]


def _dimension(node: Node, nest: Nest, name: str, build: Construction) -> str:
    """The parallel dimension that the bounded axis of an input follows, entry by entry."""
    axis = nest.reads[node.inputs.index(name)][build.bounded[name].axis]
    extent = build.tensor(name).shape[build.bounded[name].axis]
    if not _is_identity(axis):
        raise _mixes(name, build)
    dimension = nest.dimension(axis.terms[0][0])
    if dimension.iteration is not Iteration.PARALLEL or dimension.extent != extent:
        raise _mixes(name, build)
    return dimension.name


def _is_identity(axis: AxisMap) -> bool:
    stays = (axis.first_offset, axis.last_offset, axis.divisor) == (0, 0, 1)
    return stays and len(axis.terms) == 1 and axis.terms[0][1] == 1


def _axes_along(maps: Sequence[AxisMap], dimension: str) -> Iterator[int]:
    """The axes that follow a dimension; -1 for one that does so in another way than entry by entry."""
    for number, axis in enumerate(maps):
        if any(name == dimension for name, _ in axis.terms):
            yield number if _is_identity(axis) else -1
