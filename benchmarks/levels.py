"""Networks with everything at home in l3, behind l2 and l1: bytes over both links beside the least of any tiles.

    python benchmarks/levels.py --corpus FOLDER [--only TEXT] [--sizes L2:L1]... [--results FILE] [--markdown FILE]
                                [--known] [--run FOLDER]

Every network is planned for the platform l3-chain with pools of each size, or of the least l1 that works. Each layer's
bytes over l3-l2 and l2-l1 are compared with the least that any tile shape and any loop order of the layer moves within
the same pool (least_traffic.py), which is a bound: shapes that reach it need not exist. Plans are those of the fewest
cycles; where such a plan moves more than 1.10 or 1.15 times the least, because that is faster, the plan of the fewest
bytes is measured too; where that moves more as well, the page says what tiles cannot be below that keep the limit of
l3-l2 (least_of_both.py). Small models come first. ``--run`` builds all these plans there and runs them in
QEMU; outputs have to be the stored ones. ``--results`` keeps what is known, in a line of JSON each, as long as the
product is the same.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import corpus
import numpy as np
from corpus_parser import corpus_parser
from least_of_both import Rooms, least_beside
from least_traffic import least_bytes
from sweep_network import product_sha256
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.base.outputs import write_file
from tilewright.graph import DType, Graph
from tilewright.options import CompileOptions, Objective
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.plan import LayerFacts
from tilewright.planning.prepare import Prepared, prepare
from tilewright.planning.realise import Planned
from tilewright.planning.retries import search
from tilewright.tiling.alike import form

PLATFORM = "l3-chain"
L3_BYTES = 32_000_000
SIZES = ("64000:16000", "64000:4000", "16000:16000", "16000:4000")
FAR, NEAR = ("l3->l2", "l3_constants->l2", "l2->l3"), ("l2->l1", "l1->l2")
MOST_FAR, MOST_NEAR = 1.10, 1.15
NEEDED = re.compile(r"POOLS (\w+)=(\d+)")

PAGE = """# Everything at home in l3: bytes over both links beside the least of any tiles

Written by `levels.py`: networks of the corpus on `l3-chain`, whose kernels address l1 only, with all tensors and constants at home in l3. Bytes moved in one inference between l3 and l2, and between l2 and l1; the bytes that every schedule moves (compulsory); and the least that any tile shape and loop order moves, layer by layer, in an l2 and an l1 of this size. The least is a bound: tiles of one shape for all operands, of which it takes the better of two of equal number wherever they differ. Where operands keep different amounts in l2, a plan may move less than it (a ratio below 1). Ratios are moved to least; worst: the layer farthest from its least, of those that move at least a hundredth of the network's bytes. Where a plan moves more than 1.10 or 1.15 times the least, cycles are worth more to it: a second row has the plan with `objective = "bytes_moved"`. A size of `l1` that is not 16,000 or 4,000 is the least that works.

"""  # noqa: E501


@dataclass(frozen=True)
class Side:
    """Bytes over one link of the chain, both ways: moved, least of any tiles, compulsory; and the worst layer's."""

    moved: int
    least: int
    compulsory: int
    worst: float = 1.0
    worst_layer: str = ""

    @property
    def ratio(self) -> float:
        return self.moved / self.least if self.least else 1.0


@dataclass(frozen=True)
class Row:
    """A network at one size of the pools, planned for an objective; ``refused`` says why there is no plan.

    ``beside`` are the least bytes over l2-l1 of all tiles that keep the limit of l3-l2, None if no tiles do; it is
    asked of plans for the fewest bytes that are beyond the limits.
    """

    name: str
    size: str
    l2: int = 0
    l1: int = 0
    refused: str = ""
    far: Side = Side(0, 0, 0)
    near: Side = Side(0, 0, 0)
    cycles: int = 0
    objective: str = Objective.CYCLES.value
    beside: int | None = 0

    @property
    def is_near_the_least(self) -> bool:
        return self.far.ratio <= MOST_FAR and self.near.ratio <= MOST_NEAR

    @staticmethod
    def of_data(data: dict[str, object]) -> Row:
        sides = {key: Side(**data[key]) for key in ("far", "near")}  # type: ignore[arg-type]
        return Row(**{**data, **sides})  # type: ignore[arg-type]


def main() -> int:
    parser = corpus_parser(__doc__, only="networks with this text in their path", markdown=True)
    parser.add_argument("--sizes", action="append", help=f"bytes of l2 and of l1; {', '.join(SIZES)} if absent")
    parser.add_argument("--results", type=Path, help="keep rows in this file, and take known rows from it")
    parser.add_argument(
        "--known", action="store_true", help="measure nothing: show the rows that the file of --results has"
    )
    parser.add_argument("--run", type=Path, help="build the plans in this folder and run them in QEMU")
    arguments = parser.parse_args()
    networks = find_networks(arguments.corpus.resolve(), arguments.only)
    by_size = sorted(networks, key=lambda network: network.model.stat().st_size)
    rows = list(every(by_size, arguments.sizes or list(SIZES), arguments.results, known_only=arguments.known))
    rows.sort(key=lambda row: (row.name, -row.l2, -row.l1, row.objective != Objective.CYCLES.value))
    print(summary(rows))
    failures = ran({network.label: network for network in networks}, rows, arguments.run) if arguments.run else {}
    if arguments.markdown:
        write_file(arguments.markdown, (PAGE + beyond(rows) + table(rows)).encode())
    return 1 if failures else 0


def find_networks(folder: Path, only: str) -> list[corpus.Network]:
    """All networks of a corpus, .tflite models too."""
    models = [path.parent for path in folder.rglob("model.tflite") if (path.parent / "inputs.npz").exists()]
    lite = [corpus.Network(str(path.relative_to(folder)), path) for path in models]
    return [*corpus.find_networks(folder, only), *(network for network in lite if only in network.label)]


def every(
    networks: Sequence[corpus.Network], sizes: Sequence[str], results: Path | None, *, known_only: bool
) -> Iterator[Row]:
    """The rows of all networks, those that are known from the results."""
    known = read_rows(results)
    for network in networks:
        for size in sizes:
            for objective in (Objective.CYCLES.value, Objective.BYTES_MOVED.value):
                row = known.get((network.label, size, objective))
                if row is None and known_only:
                    break
                if row is None:
                    row = measured(network, size, objective)
                    keep(row, results)
                print(line(row), flush=True)
                yield row
                if row.refused or row.is_near_the_least:
                    break


def keep(row: Row, results: Path | None) -> None:
    if results is not None:
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"product": product_sha256(), **asdict(row)}) + "\n")


def read_rows(path: Path | None) -> dict[tuple[str, str, str], Row]:
    """Rows of an earlier run of the same product, by network, size and objective."""
    if path is None or not path.exists():
        return {}
    product = product_sha256()
    data = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    rows = [Row.of_data(item) for item in data if item.pop("product") == product]
    return {(row.name, row.size, row.objective): row for row in rows}


def measured(network: corpus.Network, size: str, objective: str) -> Row:
    """A network planned with pools of a size, or with the least that works where they are too small."""
    l2, l1 = map(int, size.split(":"))
    for _ in range(6):
        try:
            prepared, planned = plans(network, l2, l1, objective)
            return row_of(network, size, l2, l1, objective, prepared, planned)
        except TilewrightError as error:
            needed = {pool: int(least) for text in error.help for pool, least in NEEDED.findall(text)}
            if error.status is not ExitStatus.DOES_NOT_FIT or not set(needed) & {"l1", "l2"}:
                return Row(network.label, size, refused=error.what, objective=objective)
            l1, l2 = max(l1, needed.get("l1", 0)), max(l2, needed.get("l2", 0))
    return Row(network.label, size, refused="no size was found that works", objective=objective)


def ran(networks: Mapping[str, corpus.Network], rows: Sequence[Row], build: Path) -> dict[str, str]:
    """Builds and runs the plans; gives what is wrong by the program's name."""
    lines: dict[str, str] = {}
    build.mkdir(parents=True, exist_ok=True)
    for row in (row for row in rows if not row.refused):
        network = networks[row.name]
        graph = network.graph()
        target = f"{network.target}_{row.l2}_{row.l1}_{row.objective}"
        folder = build / "vectors" / network.target
        if network.model.suffix == ".tflite":
            first_vector(network.folder, folder)
        else:
            folder = corpus.with_matching_vectors(network, graph, folder)
        pools = f"l1={row.l1},l2={row.l2},l3={L3_BYTES}"
        options = build / f"{row.objective}.toml"
        write_file(options, f'objective = "{row.objective}"\n'.encode())
        fields = (target, str(folder), PLATFORM, corpus.types_of(network), pools, tolerance_of(network, graph))
        lines[target] = "|".join((*fields, str(options)))
    wrong = corpus.build_firmwares(lines, build)
    for target in sorted(set(lines) - set(wrong)):
        program = build / f"{target}.golden"
        words = ("--platform", PLATFORM, "--elf", str(program), "--timeout", str(corpus.TIMEOUT_SECONDS))
        done = corpus.tilewright("simulate", *words) if program.exists() else None
        if done is None or done.returncode:
            wrong[target] = "not built" if done is None else (done.stdout + done.stderr).strip()[-200:]
        print(f"{target}: {wrong.get(target, 'right')}", flush=True)
    print(f"{len(lines)} run, {len(lines) - len(wrong)} right")
    return wrong


def first_vector(source: Path, folder: Path) -> None:
    """A folder with a .tflite model and its first vector."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "model.tflite", (source / "model.tflite").read_bytes())
    outputs = source / "outputs_tflm.npz"
    outputs = outputs if outputs.exists() else source / "outputs.npz"
    for stored, file in ((source / "inputs.npz", "inputs.npz"), (outputs, "outputs.npz")):
        with np.load(stored) as arrays:
            np.savez(folder / file, **{name: arrays[name][:1] for name in arrays.files})


def tolerance_of(network: corpus.Network, graph: Graph) -> str:
    """The TOLERANCE of a golden test, as <absolute>:<relative>."""
    if network.model.suffix != ".tflite":
        return corpus.tolerance_of(network, graph)
    real = any(graph.tensor(name).dtype is DType.FLOAT32 for name in graph.outputs)
    return "1e-6:1e-5" if real else "0:0"


def plans(network: corpus.Network, l2: int, l1: int, objective: str) -> tuple[Prepared, Planned]:
    pools = (f"l1={l1}", f"l2={l2}", f"l3={L3_BYTES}")
    options = CompileOptions(network.model, PLATFORM, "net", pools)
    options = replace(options, types=tuple(network.types.items()), objective=Objective(objective))
    platform = sized_platform(options)
    prepared = prepare(imported_graph(options, platform), platform, options)
    return prepared, search(prepared, platform, options)


def row_of(
    network: corpus.Network, size: str, l2: int, l1: int, objective: str, prepared: Prepared, planned: Planned
) -> Row:
    facts = {layer.name: layer for layer in planned.schedule.layers}
    bounds = bounds_of(prepared, l2, l1)
    far = side(facts, {name: least for name, (least, _) in bounds.items()}, FAR)
    near = side(facts, {name: least for name, (_, least) in bounds.items()}, NEAR)
    row = Row(network.label, size, l2, l1, "", far, near, sum(layer.predicted_cycles for layer in facts.values()))
    row = replace(row, objective=objective)
    if objective == Objective.CYCLES.value or row.is_near_the_least:
        return row
    return replace(row, beside=beside(prepared, bounds, Rooms(l2, l1), {far.worst_layer, near.worst_layer}))


def bounds_of(prepared: Prepared, l2: int, l1: int) -> dict[str, tuple[int, int]]:
    """By layer the least bytes over l3-l2 and over l2-l1."""
    known: dict[object, tuple[int, int]] = {}
    bounds: dict[str, tuple[int, int]] = {}
    for ways in prepared.problems:
        alike = form(ways) or ways[0].node.name
        if alike not in known:
            known[alike] = least_bytes(ways, 1, l2, l1) or 0, least_bytes(ways, 0, l1) or 0
        bounds[ways[0].node.name] = known[alike]
    return bounds


def beside(
    prepared: Prepared, bounds: Mapping[str, tuple[int, int]], rooms: Rooms, layers: Collection[str]
) -> int | None:
    """The least bytes over l2-l1 while l3-l2 keeps its limit, None if no tiles of some layer keep it.

    Each of the layers moves over l3-l2 at most what the limit leaves when all others move their least there; what is
    not among ``layers`` is counted with its least over l2-l1.
    """
    least_far, least_near = (sum(pair[link] for pair in bounds.values()) for link in (0, 1))
    total = least_near
    for ways in (ways for ways in prepared.problems if ways[0].node.name in layers):
        far, near = bounds[ways[0].node.name]
        least = least_beside(ways, rooms, far + int(MOST_FAR * least_far) - least_far)
        if least is None:
            return None
        total += max(least - near, 0)
    return total


def side(facts: dict[str, LayerFacts], bounds: dict[str, int], links: Sequence[str]) -> Side:
    moved = {name: bytes_over(layer.link_bytes, links) for name, layer in facts.items()}
    once = sum(bytes_over(layer.compulsory_link_bytes, links) for layer in facts.values())
    total = sum(moved.values())
    large = [name for name in moved if bounds[name] and moved[name] * 100 >= total]
    worst = max(large, key=lambda name: moved[name] / bounds[name], default="")
    ratio = round(moved[worst] / bounds[worst], 3) if worst else 1.0
    return Side(total, sum(bounds.values()), once, ratio, worst)


def bytes_over(loads: Sequence[tuple[str, int]], links: Sequence[str]) -> int:
    return sum(size for link, size in loads if link in links)


def line(row: Row) -> str:
    if row.refused:
        return f"{row.name} {row.size}: {row.refused}"
    sides = (
        f"{item.moved:,} / {item.least:,} = {item.ratio:.3f}, {item.worst:.2f} {item.worst_layer[:40]}"
        for item in (row.far, row.near)
    )
    return f"{row.name} l2 {row.l2:,} l1 {row.l1:,} {row.objective}: {'; '.join(sides)}; {row.cycles:,} cycles"


def summary(rows: Sequence[Row]) -> str:
    """How many plans are near the least, of those for cycles and with those for bytes."""
    found = [row for row in rows if not row.refused]
    fast = [row for row in found if row.objective == Objective.CYCLES.value]
    few = {(row.name, row.size): row for row in found}
    far = sum(row.far.ratio <= MOST_FAR for row in fast)
    near = sum(row.near.ratio <= MOST_NEAR for row in fast)
    both = sum(row.is_near_the_least for row in few.values())
    return (
        f"{len({row.name for row in fast})} networks, {len(fast)} plans for the fewest cycles: l3-l2 at most "
        f"{MOST_FAR:.2f} in {far}, l2-l1 at most {MOST_NEAR:.2f} in {near}; both in {both}, where the others are "
        f"planned for the fewest bytes"
    )


def beyond(rows: Sequence[Row]) -> str:
    """The plans that are beyond the limits for either objective, and the least of tiles that keep one limit."""
    few = {(row.name, row.size): row for row in rows if not row.refused}
    found = [
        f"{row.name} at {row.l2:,} and {row.l1:,} ({row.far.ratio:.3f} and {row.near.ratio:.3f}; {least_said(row)})"
        for row in few.values()
        if not row.is_near_the_least
    ]
    return f"Beyond the limits: {', '.join(found)} (least_of_both.py).\n\n" if found else ""


def least_said(row: Row) -> str:
    """The least of all tiles whose bytes over l3-l2 keep the limit."""
    if row.beside is None:
        return f"no tiles keep {MOST_FAR:.2f} over l3-l2 and fit l1"
    times = f"{row.beside / row.near.least:.3f} times the least"
    return f"tiles that keep {MOST_FAR:.2f} over l3-l2 move {times} over l2-l1"


def table(rows: Sequence[Row]) -> str:
    return "\n".join([summary(rows) + ".\n", *_table(rows)]) + "\n"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| network | l2 | l1 | l3-l2 | least | compulsory | ratio | worst | l2-l1 | least | ratio | worst | cycles |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        if row.refused:
            yield f"| {row.name} ({row.size}: {row.refused}) |" + " |" * 12
            continue
        name = row.name if row.objective == Objective.CYCLES.value else f"{row.name}, fewest bytes"
        far, near = row.far, row.near
        cells = [f"{row.l2:,}", f"{row.l1:,}", f"{far.moved:,}", f"{far.least:,}", f"{far.compulsory:,}"]
        cells += [f"{far.ratio:.3f}", f"{far.worst:.2f}", f"{near.moved:,}", f"{near.least:,}"]
        cells += [f"{near.ratio:.3f}", f"{near.worst:.2f}", f"{row.cycles:,}"]
        yield f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
