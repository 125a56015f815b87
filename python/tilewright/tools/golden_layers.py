"""The expected output of each layer of a model, computed by the operators' references, for golden tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.base.c_names import text_part
from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.evaluate import evaluate
from tilewright.codegen.buffers import Storage, storage_of
from tilewright.graph import Array, Graph
from tilewright.plan import Buffer, BufferKind, Plan
from tilewright.planning.plan_states import initial_content
from tilewright.report.touches import HOMES, touched_buffers

_BYTES_PER_LINE = 16


@dataclass(frozen=True, slots=True)
class LayerTensor:
    """A tensor as the templates print it; ``layer`` is the number of the stage that writes it, as the hook gets it."""

    layer: int
    layer_name: str
    label: str
    variable: str
    kind: str
    address: str
    count: int
    size_bytes: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    vector_bytes: int
    lines: tuple[str, ...]


def layer_tensors(plan: Plan, graph: Graph, inputs: Mapping[str, Array], runs: int) -> list[LayerTensor]:
    """Every whole tensor of the graph that a stage writes, with its expected values in the first ``runs`` runs.

    ``inputs`` maps inputs to arrays of shape [runs, *shape]. Raises TilewrightError for an operator without reference.
    """
    values = _values(graph, inputs, runs)
    storage = storage_of(plan)
    touched = touched_buffers(plan)
    names = [layer.label or layer.name for layer in plan.layers]
    found = []
    for buffer in plan.buffers:
        name = buffer.tensor or buffer.name
        written = touched[buffer.name].written
        if not written or buffer.kind not in HOMES or name not in graph.tensors or not buffer.size_bytes:
            continue
        data = np.stack([value[name] for value in values])
        if data.shape[1:] == buffer.shape and data.dtype == np.dtype(buffer.dtype) and data.size:
            found.append(_layer_tensor(storage, buffer, written[-1], names[written[-1]], data))
    return sorted(found, key=lambda item: (item.layer, item.label))


def _values(graph: Graph, inputs: Mapping[str, Array], runs: int) -> list[Mapping[str, Array]]:
    """All tensors of each run; states go from one run to the next."""
    states = {state.input: initial_content(graph, state) for state in graph.states}
    found: list[Mapping[str, Array]] = []
    for run in range(runs):
        values = evaluate(graph, {**{name: array[run] for name, array in inputs.items()}, **states})
        states = {state.input: values[state.output] for state in graph.states}
        found.append(values)
    return found


def _layer_tensor(storage: Storage, buffer: Buffer, layer: int, layer_name: str, data: Array) -> LayerTensor:
    content = stored_bytes(data)
    return LayerTensor(
        layer=layer,
        layer_name=_text(layer_name),
        label=_text(buffer.tensor or buffer.name),
        variable=f"layer_{storage.identifiers[buffer.name]}",
        kind=golden_type(buffer.dtype),
        address=_address(storage, buffer.name),
        count=data[0].size,
        size_bytes=data[0].nbytes,
        extents=buffer.shape or (1,),
        strides=buffer.strides_bytes or (0,),
        vector_bytes=len(content),
        lines=byte_lines(content),
    )


def _address(storage: Storage, name: str) -> str:
    """The address of a buffer as a constant expression in C; the harness declares pools, inputs and outputs."""
    offset = 0
    while name in storage.parents and name not in storage.members:
        name, further = storage.parents[name]
        offset += further
    if name in storage.members:
        side = "input" if storage.buffers[name].kind is BufferKind.INPUT else "output"
        address = f"(uint8_t *){side}_{storage.members[name]}"
    else:
        address = storage.pool_address(name, f"pool_{storage.placements[name].pool}")
    return f"{address} + {offset}" if offset else address


def _text(name: str) -> str:
    """A name for a string literal in C: signs that need an escape, or are not printable ASCII, become underscores."""
    return "".join(
        sign if sign.isascii() and sign.isprintable() and sign not in '"\\?' else "_" for sign in text_part(name)
    )


def golden_type(dtype: str) -> str:
    """The enumerator of golden.h for a dtype; bool is compared as uint8."""
    return f"GOLDEN_{'UINT8' if dtype == 'bool' else dtype.upper()}"


def stored_bytes(array: Array) -> bytes:
    """The elements as the target stores them: little-endian, in C order."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()


def byte_lines(content: bytes) -> tuple[str, ...]:
    """Initialisers of bytes, 16 to a line."""
    rows = (content[start : start + _BYTES_PER_LINE] for start in range(0, len(content), _BYTES_PER_LINE))
    return tuple("".join(f"{byte}," for byte in row) for row in rows)
