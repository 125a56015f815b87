"""The fewest bytes in which a network can run row by row, whatever the order, without computing a row twice.

    python benchmarks/row_bound.py --corpus FOLDER --only TEXT [--placed]

A row of a tensor is alive from when it is computed until all rows that need it are computed. Directly before the first
row of some tensor is computed, whichever that is, the rows that it needs have been, and all that these need: of the
sets of computed rows that are possible then, a minimum cut finds the one with the fewest bytes alive. The bound is the
largest of these minima. It knows nothing of groups, blocks, scratch, alignment or places. With --placed the input
counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpus_parser import corpus_parser
from ortools.graph.python import max_flow
from tilewright.fusion.streams import Stream, block_bounds, rows_axis, stream_of
from tilewright.options import CompileOptions, Groups
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.plan import Index
from tilewright.planning.prepare import Prepared, prepare

FOREVER = 1 << 40
"""A capacity that no cut takes."""

Row = tuple[str, int]
"""Tensor and number of a row."""


@dataclass(frozen=True)
class Rows:
    """The rows of a network: the bytes of each, and the rows that it needs; rows in ``kept`` stay alive to the end."""

    size: Mapping[Row, int]
    needs: Mapping[Row, frozenset[Row]]
    kept: frozenset[Row] = frozenset()


def fewest_bytes_before(rows: Rows, tensor: str) -> int:
    """The fewest bytes alive directly before the first row of a tensor is computed."""
    own = [row for row in rows.needs if row[0] == tensor]
    given = [row for row in rows.size if row not in rows.needs]
    return min(_fewest_bytes(rows, [*given, *rows.needs[row]], own) for row in own)


def _fewest_bytes(rows: Rows, computed: Iterable[Row], missing: Iterable[Row]) -> int:
    """The fewest bytes alive where some rows are computed and others are not.

    Computed rows are on the source's side. Row r has a second node, which is there only with all that need r: the edge
    between both is cut, at the bytes of r, where r is computed and still needed.
    """
    numbers = {item: number for number, item in enumerate(rows.size)}
    count = len(numbers)
    source, sink = 2 * count, 2 * count + 1
    edges = [(number, count + number, rows.size[item]) for item, number in numbers.items()]
    for item, needed in rows.needs.items():
        edges += [(numbers[item], numbers[other], FOREVER) for other in needed]
        edges += [(count + numbers[other], numbers[item], FOREVER) for other in needed]
    edges += [(count + numbers[item], sink, FOREVER) for item in rows.kept]
    edges += [(source, numbers[item], FOREVER) for item in computed]
    edges += [(numbers[item], sink, FOREVER) for item in missing]
    flow = max_flow.SimpleMaxFlow()
    flow.add_arcs_with_capacity(*(np.array(column) for column in zip(*edges, strict=True)))
    assert flow.solve(source, sink) == flow.OPTIMAL
    return int(flow.optimal_flow())


def bound(rows: Rows) -> tuple[int, str]:
    """The largest of the minima of all tensors, and its tensor."""
    return max((fewest_bytes_before(rows, name), name) for name in dict.fromkeys(row[0] for row in rows.needs))


def rows_of(prepared: Prepared, *, placed: bool) -> Rows:
    """The rows of a prepared graph; a tensor that a layer makes or reads as a whole is one row, which needs all rows.

    Args:
        placed: whether rows of inputs count.
    """
    size: dict[Row, int] = {}
    needs: dict[Row, frozenset[Row]] = {}
    rows: dict[str, list[Row]] = {}
    for problem in (problems[0] for problems in prepared.problems):
        stream = stream_of(problem)
        (result,) = (operand for operand in problem.operands if operand.write)
        reads = [item for item in problem.operands if not item.write and item.tensor is not None and item.data is None]
        for item in reads:
            if item.tensor not in rows:
                axis = rows_axis(item)
                extent = item.extents[axis] if axis is not None else 1
                rows[item.tensor] = [(item.tensor, number) for number in range(extent)]
                size.update(dict.fromkeys(rows[item.tensor], item.size_bytes // extent if placed else 0))
        extent = stream.extent if stream is not None and not stream.is_sink else 1
        made = [(result.tensor or result.name, number) for number in range(extent)]
        rows[made[0][0]] = made
        size.update(dict.fromkeys(made, result.size_bytes // extent))
        for row, needed in zip(made, _needed(stream, extent, rows, [item.tensor for item in reads]), strict=True):
            needs[row] = needed
    outputs = prepared.graph.outputs
    return Rows(size, needs, frozenset(row for name in outputs for row in rows.get(name, ())))


def _needed(
    stream: Stream | None, extent: int, rows: Mapping[str, Sequence[Row]], reads: Sequence[str]
) -> list[frozenset[Row]]:
    """For each row of a result the rows that it needs."""
    needed: list[set[Row]] = [set() for _ in range(extent)]
    by_rows = {read.tensor: read for read in stream.reads} if stream is not None and not stream.is_sink else {}
    for tensor in reads:
        read = by_rows.get(tensor)
        if read is None or stream is None or read.rows.extent != len(rows[tensor]):
            for item in needed:
                item.update(rows[tensor])
            continue
        lower, upper = block_bounds(read.rows, Index("row", extent, 1))
        for item, low, high in zip(needed, lower.tolist(), upper.tolist(), strict=True):
            item.update(rows[tensor][low:high])
    return [frozenset(item) for item in needed]


def main() -> int:
    parser = corpus_parser("The fewest bytes in which a network can run row by row.")
    parser.add_argument("--only", required=True, help="take only networks whose name has this text")
    parser.add_argument("--placed", action="store_true", help="also count the rows of inputs")
    arguments = parser.parse_args()
    for folder in sorted((arguments.corpus / "onnx").iterdir()):
        if arguments.only in folder.name:
            prepared = prepared_of(folder / "network.onnx", placed=arguments.placed)
            found, tensor = bound(rows_of(prepared, placed=arguments.placed))
            print(f"{folder.name}: {found:,} bytes directly before the first row of {tensor}")
    return 0


def prepared_of(model: Path, *, placed: bool) -> Prepared:
    """The network's layers as they run one by one, each Concat a layer of its own."""
    platform = "qemu-virt-rv32-single" if model.parent.name.endswith("int8") else "qemu-virt-rv32f-single"
    options = CompileOptions(model=model, platform=platform, name="net", groups=Groups.AUTO, io_in_pools=placed)
    sized = sized_platform(options)
    found = prepare(imported_graph(options, sized), sized, options)
    return max((found, *found.others), key=lambda item: len(item.problems))


if __name__ == "__main__":
    raise SystemExit(main())
