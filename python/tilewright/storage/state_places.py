"""States: the tensor that a run leaves takes the bytes of the one that the run found.

That is possible where every reader of the old state has run before the layer that writes the new one, or where that
layer itself writes element on element. Else the new state has bytes of its own, and a Copy behind all readers of the
old state moves it there.

Before:  state h -> n; n = Add(Concat(h, x)), y = Sub(h, n): Sub needs h after n was computed
After:   n/state = Copy(n), behind Sub; state h -> n/state, at the address of h
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, State
from tilewright.graph.edit import make_node, untaken
from tilewright.kernels.registry import choices
from tilewright.operators.operator import Joins
from tilewright.platform import Platform
from tilewright.storage.overlaps import layer_use


def with_states_last(graph: Graph, platform: Platform) -> Graph:
    """The graph in an order in which every new state is written behind the last reader of the old one."""
    readers: dict[str, set[str]] = {}
    for state in graph.states:
        before, writers = _readers(graph, state.input), _writers(graph, state)
        late = _behind(graph, writers, readers)
        if (late & before) - writers or not _may_write(graph, platform, state, writers & before):
            graph = _with_copy(graph, state)
            continue
        readers.update({name: readers.get(name, set()) | before - writers for name in writers})
        first = [node for node in graph.nodes if node.name not in late]
        graph = graph.with_nodes([*first, *(node for node in graph.nodes if node.name in late)])
    return graph


def _readers(graph: Graph, tensor: str) -> set[str]:
    """Names of the nodes that may read bytes of a tensor, through views and Slices too."""
    found: set[str] = set()
    same = {tensor}
    for node in graph.nodes:
        if same.intersection(node.inputs):
            operator = declared(node, graph.extensions)
            found.add(node.name)
            if operator.is_view or operator.joins is Joins.PART:
                same.update(node.outputs)
    return found


def _writers(graph: Graph, state: State) -> set[str]:
    """Names of the node that computes the new state, and of the views between that node and the state."""
    producers = graph.producers()
    found: set[str] = set()
    node = producers.get(state.output)
    while node is not None:
        found.add(node.name)
        node = producers.get(node.inputs[0]) if declared(node, graph.extensions).is_view else None
    return found


def _behind(graph: Graph, names: set[str], readers: Mapping[str, set[str]]) -> set[str]:
    """Nodes of these names, and all that must run later.

    They need one of the results, or write a state whose ``readers`` do; the graph's order keeps to these.
    """
    found, results = set(names), set[str]()
    for node in graph.nodes:
        if node.name in found or results.intersection(node.inputs) or found & readers.get(node.name, set()):
            found.add(node.name)
            results.update(node.outputs)
    return found


def _may_write(graph: Graph, platform: Platform, state: State, both: set[str]) -> bool:
    """Whether the nodes that read the old state and write the new one do so element on element, whatever the tiles.

    ``both`` are their names. Cores that share a call keep no order, and links that round sizes up store beside a tile.
    """
    if not both:
        return True
    node = graph.producers()[state.output]
    if both != {node.name} or len(node.outputs) != 1 or declared(node, graph.extensions).is_view:
        return False
    if platform.core.count > 1 or any(link.round_up_bytes > 1 for link in platform.links):
        return False
    kernels = choices(node, graph, platform.target.kernels, platform.core)
    return all(state.input in layer_use(kernel, graph).over for kernel in kernels)


def _with_copy(graph: Graph, state: State) -> Graph:
    names = {*graph.tensors, *(node.name for node in graph.nodes)}
    left = untaken(f"{state.output}/state", names)
    copy: Node = make_node("Copy", [state.output], [left])
    tensors = {**graph.tensors, left: replace(graph.tensor(state.output), name=left)}
    states = tuple(replace(item, output=left) if item == state else item for item in graph.states)
    outputs = tuple(left if name == state.output else name for name in graph.outputs)
    changed = replace(graph, states=states, outputs=outputs)
    return changed.with_nodes([*graph.nodes, copy], tensors)
