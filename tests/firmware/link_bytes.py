"""Runs a golden firmware and compares the bytes that its port counted with those of its plan.

    python link_bytes.py PLAN.json --platform PLATFORM --elf ELF [--within RATIO] [--most BYTES]

Prints bytes and copies of each link: counted, of the plan, compulsory. Exit status 1 if a count
differs from the plan's, if a link moves more than RATIO times its compulsory bytes, if all links
together move more than BYTES, or if nothing was counted.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tilewright.plan.json import loads
from tilewright.platform import load_platform
from tilewright.report.data import report_data
from tilewright.tools.simulate import simulate

TIMEOUT_S = 300
COUNTED = re.compile(r"^link (\S+): (\d+) bytes, (\d+) copies", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=Path)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--elf", type=Path, required=True)
    parser.add_argument("--within", type=float)
    parser.add_argument("--most", type=int)
    arguments = parser.parse_args()
    plan = loads(arguments.plan.read_text(encoding="utf-8"))
    lines: list[str] = []
    status = simulate(load_platform(arguments.platform), arguments.elf, TIMEOUT_S, heard=lines.append)
    counted = {name: int(count) for name, count, _ in COUNTED.findall("\n".join(lines))}
    if status or not any(counted.values()):
        sys.stdout.write(f"exit status {status}, nothing counted\n")
        return 1
    wrong = 0
    for link in report_data(plan)["links"]:
        name, planned, least = link["name"], link["bytes"], link["compulsory_bytes"]
        is_wrong = counted.get(name) != planned
        is_much = arguments.within is not None and planned > arguments.within * least
        wrong += is_wrong or is_much
        ratio = f"{planned / least:.3f} of compulsory" if least else "nothing compulsory"
        verdict = " DIFFERS" * is_wrong + " TOO MUCH" * is_much
        sys.stdout.write(f"{name}: counted {counted.get(name)}, planned {planned}, {ratio}{verdict}\n")
    total = sum(counted.values())
    if arguments.most is not None and total > arguments.most:
        sys.stdout.write(f"all links: counted {total}, at most {arguments.most} TOO MUCH\n")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
