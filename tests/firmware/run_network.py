"""Runs the golden firmwares of one network, each once, and compares what they print with each other and with the plans.

    python run_network.py --variant NAME PLATFORM ELF PLAN.json... [--float] [--fused NAME] [--l1 SIZE] [--most BYTES]

Every firmware must pass. All print the same checksums; with --float, those whose plans keep the order in which float
numbers are added (adds_in_order), but for the firmware NAME, whose core rounds a product and a sum at once. The
firmware `tiled` cuts its layers into tiles that suit SIZE bytes (several_tiles.py). The links of `tiled`, `levels` and
`chain` move the bytes that their plans say (link_bytes.py): those of `tiled` at most BYTES together, each of `levels`
at most 1.15 times its compulsory bytes.
Exit status 1 if any of this is not so.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from link_bytes import are_planned
from same_bits import TIMEOUT_S, are_same, checksums
from several_tiles import are_cut
from tilewright.plan import Plan
from tilewright.plan.json import loads
from tilewright.plan.program import kernel_steps
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

LEVELS_WITHIN = 1.15

GOES_ON = {"tilewright_average_rows_f32"}
"""Kernels whose partial results are the sums so far, so that elements are added in the same order in any tiles."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", nargs=4, action="append", required=True)
    parser.add_argument("--float", action="store_true")
    parser.add_argument("--fused")
    parser.add_argument("--l1", type=int, required=True)
    parser.add_argument("--most", type=int)
    arguments = parser.parse_args()
    outputs, plans = {}, {}
    wrong = []
    for name, platform, elf, plan in arguments.variant:
        sys.stdout.write(f"{name}\n")
        lines: list[str] = []
        status = simulate(load_platform(platform), elf, TIMEOUT_S, heard=lines.append)
        if status:
            wrong.append(f"{name} ends with exit status {status}")
        outputs[name], plans[name] = "\n".join(lines), Path(plan).read_text(encoding="utf-8")
    alike = [name for name in plans if name != arguments.fused]
    same = [name for name in alike if not arguments.float or adds_in_order(loads(plans[name]))]
    if not are_same({name: checksums(outputs[name]) for name in same}):
        wrong.append("not all variants give the same bits")
    if not are_cut(json.loads(plans["tiled"]), arguments.l1):
        wrong.append("layers of tiled that are larger than l1 have one tile")
    for name, limits in {"tiled": {"most": arguments.most}, "levels": {"within": LEVELS_WITHIN}, "chain": {}}.items():
        if name in plans and not are_planned(loads(plans[name]), outputs[name], **limits):
            wrong.append(f"links of {name} do not move what they should")
    sys.stdout.write("".join(f"WRONG: {line}\n" for line in wrong))
    return 1 if wrong else 0


def adds_in_order(plan: Plan) -> bool:
    """Whether every reduction is whole, or cut for a kernel that goes on with the sums of the part before."""
    return all(step.symbol in GOES_ON for step in kernel_steps(plan.program) if step.reduction)


if __name__ == "__main__":
    sys.exit(main())
