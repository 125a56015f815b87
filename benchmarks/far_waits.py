"""How long the layers of a network wait for copies over external RAM, profiled on pulp-open in GVSoC.

    python benchmarks/far_waits.py --corpus FOLDER [--build FOLDER]

For each layer whose tensors or weights lie in external RAM: the cycles of its kernels and its waits, as profiled, and
of its copies over the links, as the plan starts them and the platform prices them. A layer may wait for all of its
copies near the core, for the first larger tile in and the last one out, and for 1.10 times what copies over external
RAM take longer than kernels. The exit status is 1 if a layer waits longer. Needs what cluster.py needs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cluster
import numpy as np
from cluster_networks import IN_EXTERNAL_RAM
from corpus_parser import corpus_parser
from tilewright.plan import Layer, Link, Plan
from tilewright.plan.copies import line_cycles
from tilewright.plan.json import loads
from tilewright.plan.stages import numbered_layers
from tilewright.report.step_runs import Started, step_runs

FAR_LIMIT = 1.10
"""Waiting over what copies over external RAM take longer than kernels."""


@dataclass(frozen=True)
class Copies:
    """Cycles of a layer's copies: ``near`` between l2 and l1, ``far`` over external RAM, ``ends`` of the latter that
    nothing runs beside."""

    near: float
    far: float
    ends: float


def main() -> int:
    parsed = corpus_parser(__doc__, build=True).parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        build = parsed.build or Path(temporary)
        build.mkdir(parents=True, exist_ok=True)
        cases = [cluster.Case(parsed.corpus / name, 8, l1, l2, "auto") for name, (l1, l2) in IN_EXTERNAL_RAM.items()]
        results = cluster.run(cases, build)
        missed = 0
        for case in cases:
            plan = loads((build / "build/tilewright" / case.target / "net_plan.json").read_text(encoding="utf-8"))
            profile = json.loads(results[case.target].read_text(encoding="utf-8"))
            missed += judge(plan, profile["layers"])
        return cluster.verdict(missed, "layers that wait for external RAM longer than they may")


def judge(plan: Plan, profiled: Sequence[Mapping[str, Any]]) -> int:
    """Print the layers with copies over external RAM, return how many of them wait too long."""
    missed = 0
    print(f"{'layer':<32}{'kernels':>12}{'near':>10}{'far':>12}{'ends':>10}{'may wait':>12}{'waits':>10}")
    for item in numbered_layers(plan.program):
        copies = copies_of(plan, item.layer)
        if not copies.far:
            continue
        stages = profiled[item.first : item.first + len(item.layer.stages)]
        kernels, waits = (sum(stage[key] for stage in stages) for key in ("kernel_cycles", "wait_cycles"))
        allowed = may_wait(copies, kernels)
        missed += waits > allowed
        counts = f"{kernels:>12,}{copies.near:>10,.0f}{copies.far:>12,.0f}{copies.ends:>10,.0f}{allowed:>12,.0f}"
        print(f"{stages[0]['label'][:30]:<32}{counts}{waits:>10,}{' !' if waits > allowed else ''}")
    return missed


def may_wait(copies: Copies, kernels: float) -> float:
    """Cycles that a layer of such copies and kernels may wait."""
    return copies.near + copies.ends + FAR_LIMIT * max(copies.far - kernels, 0.0)


def copies_of(plan: Plan, layer: Layer) -> Copies:
    """What the copies of a layer take by the numbers of their links."""
    links = {link.name: link for link in plan.links}
    near, incoming, outgoing = 0.0, [], []
    for event in step_runs(plan, layer.body):
        if not isinstance(event, Started):
            continue
        link = links[event.link]
        cycles = copy_cycles(link, event)
        if link.issuer == "core":
            near += cycles
        elif link.target == "l2":
            incoming.append(cycles)
        else:
            outgoing.append(cycles)
    ends = (max(incoming) if incoming else 0.0) + (max(outgoing) if outgoing else 0.0)
    return Copies(near, sum(incoming) + sum(outgoing), ends)


def copy_cycles(link: Link, event: Started) -> float:
    """Cycles of a copy: set-up of its commands, its lines and its bytes."""
    besides = float(line_cycles(link, np.asarray(event.lines), np.asarray(event.size_bytes)))
    return event.commands * link.setup_cycles + besides + event.size_bytes / link.bytes_per_cycle


if __name__ == "__main__":
    sys.exit(main())
