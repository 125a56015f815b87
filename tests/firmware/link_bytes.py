"""The bytes that a firmware's port counted on each link against those of its plan."""

from __future__ import annotations

import re
import sys

from tilewright.plan import Plan
from tilewright.report.data import report_data

COUNTED = re.compile(r"^link (\S+): (\d+) bytes, (\d+) copies", re.MULTILINE)


def are_planned(plan: Plan, output: str, within: float | None = None, most: int | None = None) -> bool:
    """Whether a firmware counted on each link the plan's bytes, and no more than it may; prints all of them.

    Args:
        output: what the firmware printed.
        within: the most bytes of a link, as a multiple of its compulsory bytes.
        most: the most bytes of all links together.
    """
    counted = {name: int(count) for name, count, _ in COUNTED.findall(output)}
    if not any(counted.values()):
        sys.stdout.write("nothing counted\n")
        return False
    wrong = 0
    for link in report_data(plan)["links"]:
        name, planned, least = link["name"], link["bytes"], link["compulsory_bytes"]
        is_wrong = counted.get(name) != planned
        is_much = within is not None and planned > within * least
        wrong += is_wrong or is_much
        ratio = f"{planned / least:.3f} of compulsory" if least else "nothing compulsory"
        verdict = " DIFFERS" * is_wrong + " TOO MUCH" * is_much
        sys.stdout.write(f"{name}: counted {counted.get(name)}, planned {planned}, {ratio}{verdict}\n")
    total = sum(counted.values())
    if most is not None and total > most:
        sys.stdout.write(f"all links: counted {total}, at most {most} TOO MUCH\n")
        wrong += 1
    return not wrong
