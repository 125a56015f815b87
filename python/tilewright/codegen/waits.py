"""Waits that a later wait makes needless: copies over one link complete in the order in which they start.

Before:  start weights, start biases (one link); wait weights, wait biases
After:   start weights, start biases; wait biases
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from tilewright.codegen.expressions import is_never_empty
from tilewright.plan import CopyStart, Index, Step, Wait


def needless_waits(body: Sequence[Step], indices: Mapping[str, Index], early: int = 0) -> frozenset[str]:
    """Tokens whose wait is followed at once by a wait for a later copy over the same link, in the same iterations.

    The later copy must have bytes in every tile, since a wait for an empty copy waits for nothing. The first ``early``
    steps of ``body`` stand before the loop; the two copies must stand on the same side of that border.
    """
    starts = {step.token: (number, step) for number, step in enumerate(body) if isinstance(step, CopyStart)}
    needless = set()
    for is_wait, run in groupby(body, lambda step: isinstance(step, Wait)):
        waits = [step for step in run if isinstance(step, Wait)] if is_wait else []
        for first, second in pairwise(waits):
            (number, earlier), (later_number, later) = starts[first.token], starts[second.token]
            times = (earlier.runs.iterations, later.runs.iterations)
            together = number < later_number and earlier.link == later.link and times[0] == times[1]
            together = together and (number < early) == (later_number < early)
            is_copied = all(is_never_empty(axis, indices) for axis in later.source.rectangle)
            if together and first.runs.iterations == second.runs.iterations and is_copied:
                needless.add(first.token)
    return frozenset(needless)
