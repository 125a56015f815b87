"""Runs networks on this machine untiled and with less and less l1, down to the least that works, and compares bits.

    python benchmarks/sweep.py --corpus FOLDER [--steps N] [--network TEXT]... [--jobs N]
                               [--results FILE] [--markdown FILE]

Every network of the corpus is planned untiled, layer by layer (without groups, which run block by
block), for qemu-virt-rv32-single, which has no l1; then for qemu-virt-rv32 with links that are
asynchronous, so that second slots pay, for as many bytes of l1 as it takes of plenty, and for sizes
below, each the same factor smaller, down to the least that works. Each plan is built for this
machine with AddressSanitizer and UndefinedBehaviorSanitizer and links that deliver late, and run on
the first stored input. Outputs have to be those of the untiled plan, bit for bit (floats within
1e-4 where a plan cuts sums). Exit status 1 if one differs or fails, or if a size does not fit
although a smaller one does; a network that is not supported is named with the reason.

``--results`` keeps what is known of each network, in a line of JSON each: a run that was stopped
goes on where it was, as long as the product is the same. Tables are printed network by network.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import corpus
from corpus_parser import corpus_parser
from sweep_network import CLOSE, Network, measured, product_sha256
from tilewright.base.outputs import write_file

PAGE = """# Every network of the corpus on this machine, untiled and down to the smallest l1

Written by `sweep.py`: with asynchronous links, from those that a plan takes of plenty down to the least that works; built with AddressSanitizer and UndefinedBehaviorSanitizer, with copies that happen only when they are waited for. Equal: sizes whose output is the untiled one's, bit for bit (*: within 1e-4 at some of them, where plans cut sums of floats). Tiles: all layers' together, untiled, at the first size and at the least. Doubled: layers with second slots, at each size. Seconds: planning, building and running all sizes.

"""  # noqa: E501


def main() -> int:
    parser = corpus_parser(__doc__, markdown=True)
    parser.add_argument(
        "--steps", type=int, default=5, help="number of sizes of l1, from plenty to the least that works"
    )
    parser.add_argument(
        "--network", action="append", default=[], help="only networks whose folder has this text; may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of networks that run at one time")
    parser.add_argument("--results", type=Path, help="keep results in this file, and take known results from it")
    arguments = parser.parse_args()
    models = [
        model
        for model in corpus.find_networks(arguments.corpus.resolve(), "")
        if not arguments.network or any(part in model.label for part in arguments.network)
    ]
    networks: dict[str, Network] = {}
    for network in every(models, arguments.steps, arguments.jobs, arguments.results):
        networks[network.name] = network
        print("\n".join(lines(network)), flush=True)
    ordered = [networks[model.label] for model in models]
    print(summary(ordered))
    if arguments.markdown is not None:
        write_file(arguments.markdown, (PAGE + table(ordered)).encode())
    return 1 if any(network.wrong for network in ordered) else 0


def every(models: Sequence[corpus.Network], steps: int, jobs: int, results: Path | None) -> Iterator[Network]:
    """Networks as they are done, those first that are known already."""
    product = product_sha256()
    known = read_results(results, product, steps)
    yield from (known[model.label] for model in models if model.label in known)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as executor:
        waiting = [
            executor.submit(measured, model, Path(folder), steps) for model in models if model.label not in known
        ]
        try:
            for future in as_completed(waiting):
                network = future.result()
                if results is not None:
                    with results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({"product": product, "steps": steps, **network.data()}) + "\n")
                yield network
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def read_results(path: Path | None, product: str, steps: int) -> dict[str, Network]:
    """Networks of an earlier run of the same product, by name."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    fitting = [row for row in rows if (row.pop("product"), row.pop("steps")) == (product, steps)]
    return {row["name"]: Network.of_data(row) for row in fitting}


def lines(network: Network) -> Iterator[str]:
    """A network for the terminal: a line for each size, or why there is none."""
    if network.refused:
        yield f"{network.name}: refused: {network.refused}"
    for point in network.points:
        seconds = f"{point.plan_s:6.1f} {point.build_s:5.1f} {point.run_s:6.1f} s"
        size = f"l1 {point.l1_bytes:11,} {point.tiles:11,} tiles {point.doubled:3} doubled"
        yield f"{network.name}: {size} {seconds}  {point.verdict}"


def summary(networks: Sequence[Network]) -> str:
    points = [point for network in networks for point in network.points if point.l1_bytes]
    equal = sum(point.right for point in points)
    swept = sum(not network.refused for network in networks)
    refused = len(networks) - swept
    return (
        f"{swept} networks, {len(points)} sizes: {equal} equal, {len(points) - equal} not; {refused} networks refused"
    )


def table(networks: Sequence[Network]) -> str:
    """The networks as Markdown."""
    swept = [network for network in networks if not network.refused]
    refused = [network for network in networks if network.refused]
    rows = [
        "| network | l1 bytes | tiles | doubled | equal | s |",
        "|---|---|--:|---|--:|--:|",
        *(row(item) for item in swept),
    ]
    text = [f"{summary(networks)}.", "", *rows]
    if refused:
        listed = (f"| {network.name} | {network.refused} |" for network in refused)
        text += ["", "Refused:", "", "| network | reason |", "|---|---|", *listed]
    failed = [(network.name, point) for network in swept for point in network.points if not point.right]
    if failed:
        text += ["", "Not equal:", "", *(f"- {name}, {point.l1_bytes:,}: {point.verdict}" for name, point in failed)]
    return "\n".join(text) + "\n"


def row(network: Network) -> str:
    untiled, *points = network.points
    sizes = ", ".join(f"{point.l1_bytes:,}" for point in points)
    tiles = " → ".join(f"{point.tiles:,}" for point in (untiled, points[0], points[-1])) if points else ""
    slots = ", ".join(str(point.doubled) for point in points)
    star = "*" if any(point.verdict == CLOSE for point in points) else ""
    equal = f"{sum(point.right for point in points)} of {len(points)}{star}"
    seconds = sum(point.plan_s + point.build_s + point.run_s for point in network.points)
    return f"| {network.name} | {sizes} | {tiles} | {slots} | {equal} | {seconds:,.0f} |"


if __name__ == "__main__":
    sys.exit(main())
