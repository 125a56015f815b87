"""Inputs that may have one value only, and how the core reads them for the comparison at the start of a run."""

from __future__ import annotations

import numpy as np

from tilewright.plan.program import Plan


def given_link(plan: Plan) -> int | None:
    """The link from the caller's pool to one that the core reads; None where there is none, or none is needed."""
    if _is_read_directly(plan):
        return None
    near = {pool for pool, _ in plan.core.access_cycles}
    ends = [link.source == plan.io_pool and link.target in near for link in plan.links]
    return ends.index(True) if any(ends) else None


def is_compared(plan: Plan) -> bool:
    """Whether inputs are compared with their only value: not where they lie more than one link from the core."""
    return _is_read_directly(plan) or given_link(plan) is not None


def _is_read_directly(plan: Plan) -> bool:
    return plan.core.called_on != "core" or plan.io_pool in {pool for pool, _ in plan.core.access_cycles}


def given_copies(plan: Plan, link: str) -> tuple[int, int]:
    """(Bytes, copies) that one run moves over a link in order to compare inputs with their only value."""
    index = given_link(plan)
    if index is None or plan.links[index].name != link:
        return 0, 0
    compared = [item for item in plan.inputs if item.required]
    return sum(len(item.required) * np.dtype(item.dtype).itemsize for item in compared), len(compared)
