"""Which outputs may lie over an input that dies with their operator, and how many bytes are alive then.

Before:  layers 0 conv -> a, 1 clip a -> b, 2 conv b -> y; nothing else reads a or b
After:   b over a: the clip runs in place; y over b, at the distance that ``clearance`` computes
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.kernels.kernel import KernelChoice, TensorOperand
from tilewright.plan import BufferKind, WriteOrder
from tilewright.storage.clearance import SAME_PLACE, Clearance, Placed, clearance
from tilewright.storage.homes import Homes
from tilewright.storage.lives import NEVER, Life, group_lives
from tilewright.storage.places import same_strides
from tilewright.storage.pressure import union_bytes

_PLACED = (BufferKind.INTERMEDIATE, BufferKind.INPUT, BufferKind.OUTPUT)


@dataclass(frozen=True, slots=True)
class LayerUse:
    """The tensors that one layer ``reads`` and ``writes``, without constants.

    ``over`` are the tensors in ``reads`` over which the kernel may write its only output, first choice first:
    element on element, or, where ``behind`` gives a clearance, at that distance.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    over: tuple[str, ...] = ()
    behind: Mapping[str, Clearance] = field(default_factory=dict)

    @property
    def touched(self) -> tuple[str, ...]:
        """All tensors that the layer reads or writes, in the order of the kernel's operands."""
        return (*self.reads, *self.writes)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Output ``first`` may be written over input ``second``, which dies with the layer.

    ``firsts`` are all tensors that hold the bytes of ``first``, ``seconds`` those that hold the bytes of ``second``.
    ``slices`` are parts that are read from ``first`` later, with the bytes at which they begin in it.
    """

    first: str
    second: str
    clearance: Clearance = SAME_PLACE
    firsts: tuple[str, ...] = ()
    seconds: tuple[str, ...] = ()
    slices: tuple[tuple[str, int], ...] = ()


def layer_use(kernel: KernelChoice, graph: Graph) -> LayerUse:
    """The tensors that a kernel touches, and the inputs over which the kernel may write."""
    operands = [item for item in kernel.reads if isinstance(item, TensorOperand)]
    reads = tuple(item.tensor for item in operands if not graph.tensor(item.tensor).is_constant)
    writes = tuple(item.tensor for item in kernel.writes)
    elementwise = kernel.stores.order is WriteOrder.ELEMENTWISE and len(writes) == 1
    candidates = [kernel.reads[position] for position in kernel.stores.over] if elementwise else []
    over = [item.tensor for item in candidates if isinstance(item, TensorOperand) and _matches(item, kernel, graph)]
    return LayerUse(reads, writes, tuple(name for name in dict.fromkeys(over) if reads.count(name) == 1))


def raster_use(kernel: KernelChoice, graph: Graph, homes: Homes) -> LayerUse:
    """``layer_use``, with the inputs that the output of a kernel which stores in raster order may overlap."""
    use = layer_use(kernel, graph)
    if kernel.stores.order is WriteOrder.PERMUTED:
        return _permuted_use(use, graph, homes)
    if kernel.stores.order is not WriteOrder.RASTER or len(kernel.writes) != 1:
        return use
    written = _placed(kernel.writes[0], graph, homes)
    behind = {}
    for position in kernel.stores.over:
        item = kernel.reads[position]
        if isinstance(item, TensorOperand) and use.reads.count(item.tensor) == 1:
            found = clearance(kernel, _placed(item, graph, homes), written)
            if found is not None:
                behind[item.tensor] = found
    return replace(use, over=tuple(behind), behind=behind)


def _permuted_use(use: LayerUse, graph: Graph, homes: Homes) -> LayerUse:
    """The use of a kernel that permutes elements in place, where its only input and its output have no gaps."""
    dense = all(homes.sizes[name] == graph.tensor(name).size_bytes for name in use.touched)
    return replace(use, over=use.reads, behind=dict.fromkeys(use.reads, SAME_PLACE)) if dense else use


def _placed(item: TensorOperand, graph: Graph, homes: Homes) -> Placed:
    tensor = graph.tensor(item.tensor)
    return Placed(item.axes, tensor.shape, homes.places[item.tensor].strides_bytes, tensor.dtype.size_bytes)


def _matches(item: TensorOperand, kernel: KernelChoice, graph: Graph) -> bool:
    """Whether the rectangle of the input that a tile reads is the rectangle of the output that it writes."""
    (written,) = kernel.writes
    source, target = graph.tensor(item.tensor), graph.tensor(written.tensor)
    # An axis of extent 1 has a map of its own where the operator may broadcast it.
    alike = zip(source.shape, item.axes, written.axes, strict=False)
    return (
        not source.is_constant
        and source.shape == target.shape
        and source.dtype.size_bytes == target.dtype.size_bytes
        and all(extent == 1 or one == other for extent, one, other in alike)
        and item.view == written.view
    )


def find_overlaps(uses: Sequence[LayerUse], homes: Homes, graph: Graph) -> tuple[Overlap, ...]:
    """Every output that may lie over an input of its layer, in the order of layers, a kernel's first choice first.

    The placement decides which of these overlaps leave room for all other buffers.
    """
    lives = group_lives([use.touched for use in uses], homes)
    holders, slices = _holders(homes), _slices(homes)
    return tuple(
        Overlap(
            use.writes[0],
            candidate,
            use.behind.get(candidate, SAME_PLACE),
            holders[homes.groups[use.writes[0]]],
            holders[homes.groups[candidate]],
            slices.get(homes.groups[use.writes[0]], ()),
        )
        for number, use in enumerate(uses)
        for candidate in use.over
        if _may_lie(number, use, candidate, lives, homes, graph)
    )


def _holders(homes: Homes) -> dict[str, tuple[str, ...]]:
    """For each group all tensors that hold its bytes."""
    holders: dict[str, list[str]] = {}
    for name, group in homes.groups.items():
        holders.setdefault(group, []).append(name)
    return {group: tuple(names) for group, names in holders.items()}


def _slices(homes: Homes) -> dict[str, tuple[tuple[str, int], ...]]:
    """For each group that is a whole the tensors that are sliced from it, with the byte where each begins."""
    slices: dict[str, list[tuple[str, int]]] = {}
    for name, group in homes.groups.items():
        part = homes.parts.get(group)
        while part is not None and not part.made_of:
            whole = homes.groups[part.whole]
            begin = homes.places[name].offset_bytes - homes.places[whole].offset_bytes
            slices.setdefault(whole, []).append((name, begin))
            part = homes.parts.get(whole)
    return {whole: tuple(names) for whole, names in slices.items()}


def _may_lie(number: int, use: LayerUse, candidate: str, lives: Mapping[str, Life], homes: Homes, graph: Graph) -> bool:
    """Whether a layer's output suits an input's place: same pools, the input dead afterwards, in place same strides."""
    written = use.writes[0]
    if not all(_is_placed(homes, name) for name in (written, candidate)):
        return False
    if homes.roots[written] == homes.roots[candidate] or homes.pools[written] != homes.pools[candidate]:
        return False
    born, dead = lives[homes.groups[written]].begin, lives[homes.groups[candidate]].end
    if born != number or dead != number:
        return False
    strides = [homes.places[name].strides_bytes for name in (written, candidate)]
    if candidate not in use.behind and not same_strides(graph.tensor(candidate).shape, *strides):
        return False
    return not _is_read_elsewhere(use, candidate, homes)


def _is_placed(homes: Homes, tensor: str) -> bool:
    """Whether the plan places the tensor, so that its bytes are free once no layer reads them any more."""
    return not homes.is_callers(tensor) and homes.kinds[homes.roots[tensor]] in _PLACED


def _is_read_elsewhere(use: LayerUse, candidate: str, homes: Homes) -> bool:
    """Whether the layer reads some of the candidate's bytes under another name."""
    begin, end = _span(homes, candidate)
    others = (name for name in use.reads if name != candidate and homes.roots[name] == homes.roots[candidate])
    return any(low < end and begin < high for low, high in (_span(homes, name) for name in others))


def _span(homes: Homes, tensor: str) -> tuple[int, int]:
    """The bytes [begin, end) of a tensor in its family."""
    begin = homes.places[tensor].offset_bytes
    return begin, begin + homes.sizes[tensor]


def peak_bytes(uses: Sequence[LayerUse], homes: Homes, graph: Graph) -> int:
    """The most bytes of homes that are alive in a layer; an output that may lie over an input shares its bytes."""
    return max(_each_alive(range(-1, len(uses)), uses, homes, graph), default=0)


def alive_bytes(uses: Sequence[LayerUse], homes: Homes, graph: Graph) -> list[int]:
    """For each layer the bytes of homes that are alive; an output that may lie over an input shares its bytes."""
    return list(_each_alive(range(len(uses)), uses, homes, graph))


def _each_alive(numbers: range, uses: Sequence[LayerUse], homes: Homes, graph: Graph) -> Iterator[int]:
    """One sweep over the layers: a family's bytes are counted anew only where one of its groups begins or ends."""
    lives = group_lives([use.touched for use in uses], homes)
    changes = _changes({group: life for group, life in lives.items() if _is_placed(homes, group)})
    alive: dict[str, set[str]] = {}
    counted: dict[str, int] = {}
    total = 0
    for number in range(NEVER, numbers.stop):
        begun, ended = changes.get(number, ((), ()))
        for group in begun:
            alive.setdefault(homes.roots[group], set()).add(group)
        for group in ended:
            alive[homes.roots[group]].remove(group)
        for root in {homes.roots[group] for group in (*begun, *ended)}:
            size = union_bytes(_span(homes, group) for group in alive[root])
            total += size - counted.get(root, 0)
            counted[root] = size
        if number in numbers:
            yield total - _most_shared_bytes(number, uses, alive, lives, homes, graph)


def _changes(lives: Mapping[str, Life]) -> dict[int, tuple[list[str], list[str]]]:
    """For each layer at which something changes, the groups that begin to live and those that live no longer."""
    changes: dict[int, tuple[list[str], list[str]]] = {}
    for group, life in lives.items():
        changes.setdefault(life.begin, ([], []))[0].append(group)
        changes.setdefault(life.end + 1, ([], []))[1].append(group)
    return changes


def _most_shared_bytes(
    number: int,
    uses: Sequence[LayerUse],
    alive: Mapping[str, Collection[str]],
    lives: Mapping[str, Life],
    homes: Homes,
    graph: Graph,
) -> int:
    """The most bytes that the output of layer ``number`` shares with one of the layer's inputs."""
    if number < 0:
        return 0
    use = uses[number]
    over = (name for name in use.over if _may_lie(number, use, name, lives, homes, graph))
    return max((_shared_bytes(use, name, alive, homes) for name in over), default=0)


def _shared_bytes(use: LayerUse, candidate: str, alive: Mapping[str, Collection[str]], homes: Homes) -> int:
    """The most bytes that a layer's output shares with an input over which it may lie."""
    written = use.writes[0]
    size = homes.sizes[written]
    if candidate not in use.behind:
        return size if _is_free(written, candidate, alive, homes) else 0
    by_itself = all(len(alive[homes.roots[name]]) == 1 for name in (written, candidate))
    return use.behind[candidate].shared_bytes(size, homes.sizes[candidate]) if by_itself else 0


def _is_free(written: str, candidate: str, alive: Mapping[str, Collection[str]], homes: Homes) -> bool:
    """Whether ``written`` can lie over ``candidate`` without other live groups of their families meeting."""
    move = homes.places[candidate].offset_bytes - homes.places[written].offset_bytes
    pair = homes.groups[written], homes.groups[candidate]
    for group in alive[homes.roots[written]]:
        low, high = (at + move for at in _span(homes, group))
        for other in alive[homes.roots[candidate]]:
            begin, end = _span(homes, other)
            if (group, other) != pair and low < end and begin < high:
                return False
    return True
