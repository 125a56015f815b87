"""Input images whose channels lie in planes get their channels side by side, in the bytes of the image.

A row of such an image has a piece in each plane, so the bytes of rows that a layer has read lie in pieces. Behind an
Interleave in place, the bytes of rows that were read are one piece, which an output can take.

Before:  x [1, 3, 144, 144] in planes -> conv
After:   x -> Interleave -> x.interleaved, channels last -> conv
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph import Graph, channels_last_order, identity_order
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.kernels.liked_orders import Layout
from tilewright.kernels.registry import liked_order
from tilewright.plan import Core


def with_interleaved_inputs(graph: Graph, families: tuple[str, ...], core: Core) -> Graph | None:
    """The graph with an Interleave behind each input image in planes; None if there is none.

    Args:
        families, core: the families of kernels in order of preference, and the core that runs them.
    """
    found = [name for name in graph.inputs if _lies_in_planes(graph, name, families, core)]
    if not found:
        return None
    editor = GraphEditor(graph)
    for name in found:
        made = editor.variable(graph.tensor(name), f"{name}.interleaved")
        editor.tensors[made.name] = replace(made, order=channels_last_order(len(made.shape)))
        editor.redirect(name, made.name)
        editor.add(make_node("Interleave", [name], [made.name], name=f"interleave {name}"))
    return editor.graph()


def _lies_in_planes(graph: Graph, name: str, families: tuple[str, ...], core: Core) -> bool:
    """Whether an input of several channels lies in planes, and the kernels of all its readers like channels last."""
    tensor, readers = graph.tensor(name), graph.consumers()[name]
    rank = len(tensor.shape)
    is_image = rank > 2 and tensor.shape[0] == 1 and tensor.shape[1] > 1 and max(tensor.shape[2:]) > 1
    held = name == graph.fed or name in graph.outputs or any(name == state.input for state in graph.states)
    if not is_image or tensor.order != identity_order(rank) or held or not readers:
        return False
    return all(liked_order(node, graph, families, core).layout is Layout.CHANNELS_LAST for node in readers)
