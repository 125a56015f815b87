"""Fits what kernels, tile loops and links cost to profiles, and writes it into a platform file.

What is fitted is linear in its constants, in three steps: cycles in kernel calls (per split call,
and for each kernel a call and a factor on its own formula); then, from layers with single buffers,
the rest of what the core does (per layer, per tile, per command of a link), and its waiting for
copies (per command, line and byte of a link). Relative errors are minimised, by least squares with
no constant below zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8
from tilewright.graph import Array
from tilewright.platform.costs import Costs, KernelCost, kernel_key
from tilewright.tools.measurements import PROFILE_FORMAT


@dataclass(frozen=True, slots=True)
class Sample:
    """One layer of a profile: what it did, and how long that took.

    ``loads`` maps a link to (commands, lines, bytes).
    """

    kernel: str
    tiles: int
    calls: int
    split_calls: int
    kernel_work: int
    loads: Mapping[str, tuple[int, int, int]]
    slots: int
    cycles: int
    kernel_cycles: int
    wait_cycles: int


@dataclass(frozen=True, slots=True)
class LinkCost:
    """What a link costs: of the core for a command, and then for each line and byte."""

    setup_cycles: float
    line_cycles: float
    bytes_per_cycle: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """Constants of the cost model, and the largest relative error of a layer that was fitted."""

    costs: Costs
    links: Mapping[str, LinkCost] = field(default_factory=dict)
    largest_error: float = 0.0


def read_samples(paths: Iterable[Path], platform: str) -> list[Sample]:
    """The layers of profiles of one platform. Raises bad_input for files that are none, or of another one."""
    samples: list[Sample] = []
    for path in paths:
        try:
            content = json.loads(read_utf8(path))
        except OSError as error:
            raise bad_input(
                "profile-file", f"cannot read the profile: {error.strerror or error}", at=str(path)
            ) from error
        except ValueError as error:
            raise bad_input("profile-json", "the profile is not JSON text", at=str(path)) from error
        if not isinstance(content, Mapping) or content.get("format") != PROFILE_FORMAT:
            raise bad_input("profile-json", f"no profile of format {PROFILE_FORMAT}", at=str(path))
        if content["platform"] != platform:
            what = f"the profile is of platform '{content['platform']}', not '{platform}'"
            raise bad_input("profile-platform", what, at=str(path))
        samples += [_sample(layer, str(path)) for layer in content["layers"]]
    if not samples:
        raise bad_input("profile-empty", "the profiles have no layers")
    return samples


def _sample(layer: Mapping[str, Any], where: str) -> Sample:
    work = layer.get("work")
    if work is None:
        what = f"layer '{layer.get('name')}' does not say what it does"
        raise bad_input("profile-json", what, at=where, help="measure a model that this version generated")
    return Sample(
        kernel=kernel_key(layer["kernel"]),
        tiles=layer["tiles"],
        calls=work["calls"],
        split_calls=work["split_calls"],
        kernel_work=work["kernel_work"],
        loads={load["link"]: (load["commands"], load["lines"], load["size_bytes"]) for load in work["loads"]},
        slots=layer["slots"],
        cycles=layer["cycles"],
        kernel_cycles=layer["kernel_cycles"],
        wait_cycles=layer["wait_cycles"],
    )


def fit(
    samples: Sequence[Sample],
    same_links: Mapping[str, str] | None = None,
    widths: Mapping[str, float] | None = None,
) -> Fitted:
    """The constants that explain the samples best. A pure function: same samples, same numbers.

    ``same_links`` maps links to others that have the same costs, as the way back has those of the
    way there; ``widths`` gives the bytes per cycle that links cannot exceed.
    """
    kernels, fork_cycles = _fit_kernels(samples)
    layer_cycles, tile_cycles, links = _fit_loops(samples, same_links or {}, widths or {})
    costs = Costs(layer_cycles, tile_cycles, fork_cycles, kernels)
    errors = [
        abs(_kernel_cycles(sample, costs) - sample.kernel_cycles) / sample.kernel_cycles
        for sample in samples
        if sample.kernel_cycles
    ]
    return Fitted(costs, links, max(errors, default=0.0))


def _kernel_cycles(sample: Sample, costs: Costs) -> float:
    cost = costs.kernel(sample.kernel)
    own = cost.call_cycles * sample.calls + cost.factor * sample.kernel_work
    return own + costs.fork_cycles * sample.split_calls


def _fit_kernels(samples: Sequence[Sample]) -> tuple[tuple[tuple[str, KernelCost], ...], float]:
    """Each kernel's call and factor, and what a fork costs; ``default`` stands for kernels without samples."""
    used = [sample for sample in samples if sample.kernel_cycles > 0]
    names = sorted({sample.kernel for sample in used})
    forked = any(sample.split_calls for sample in used)
    columns = 2 * len(names) + 1
    rows = np.zeros((len(used), columns))
    for row, sample in zip(rows, used, strict=True):
        at = 2 * names.index(sample.kernel)
        row[at], row[at + 1], row[-1] = sample.calls, sample.kernel_work, sample.split_calls
    found = least_squares(rows, np.array([sample.kernel_cycles for sample in used], dtype=np.float64))
    kernels = [
        (name, KernelCost(_rounded(found[2 * number]), max(_rounded(found[2 * number + 1], 3), 0.001)))
        for number, name in enumerate(names)
    ]
    factors = sorted(cost.factor for _, cost in kernels)
    calls = sorted(cost.call_cycles for _, cost in kernels)
    middle = len(kernels) // 2
    default = [("default", KernelCost(calls[middle], factors[middle]))] if kernels else []
    return (*default, *kernels), _rounded(found[-1]) if forked else Costs().fork_cycles


def _fit_loops(
    samples: Sequence[Sample], same_links: Mapping[str, str], widths: Mapping[str, float]
) -> tuple[float, float, dict[str, LinkCost]]:
    """Cycles of a layer and of a tile, and each link's costs: what is no kernel, and waiting for itself.

    Layers that double-buffer hide a part of their copies, so they say nothing about links.
    """
    used = [sample for sample in samples if sample.loads and sample.slots <= 1]
    if not used:
        return 0.0, 0.0, {}
    links = sorted({same_links.get(link, link) for sample in used for link in sample.loads})
    starts = np.zeros((len(used), 2 + len(links)))
    waits = np.zeros((len(used), 3 * len(links)))
    for start, wait, sample in zip(starts, waits, used, strict=True):
        start[:2] = 1, sample.tiles
        for link, load in sample.loads.items():
            number = links.index(same_links.get(link, link))
            start[2 + number] += load[0]
            wait[3 * number : 3 * number + 3] += load
    started = least_squares(starts, np.array([item.cycles - item.kernel_cycles - item.wait_cycles for item in used]))
    waited = _fit_waits(
        waits, np.array([float(item.wait_cycles) for item in used]), [widths.get(link) for link in links]
    )
    costs = {
        link: LinkCost(
            setup_cycles=_rounded(started[2 + number] + waited[3 * number]),
            line_cycles=_rounded(waited[3 * number + 1]),
            bytes_per_cycle=_rounded(1.0 / max(float(waited[3 * number + 2]), 1e-3), 2),
        )
        for number, link in enumerate(links)
    }
    return _rounded(started[0]), _rounded(started[1]), costs


def _fit_waits(rows: Array, wanted: Array, widths: Sequence[float | None]) -> Array:
    """Cycles of a command, a line and a byte of each link; starts of other copies hide bytes, but none is faster.

    Args:
        rows: float64[samples, 3 * links].
    """
    found = least_squares(rows, wanted)
    least = np.zeros(rows.shape[1])
    for number, width in enumerate(widths):
        if width is not None and found[3 * number + 2] < 1.0 / width:
            least[3 * number + 2] = 1.0 / width
    free = rows.copy()
    free[:, least > 0.0] = 0.0
    rest = np.maximum(wanted - rows @ least, 0.0)
    weight = np.maximum(wanted, 1.0)
    result: Array = least + least_squares(free, rest, weight)
    return result


def _rounded(value: float, digits: int = 1) -> float:
    return round(float(value), digits)


def least_squares(rows: Array, wanted: Array, scale: Array | None = None) -> Array:
    """x >= 0 that minimises the sum of ((rows @ x - wanted) / scale)^2; Lawson and Hanson's active set.

    Args:
        rows: float64[samples, constants].
        wanted: float64[samples].
        scale: float64[samples], positive; what is wanted if absent.
    """
    weight = 1.0 / np.maximum(wanted if scale is None else scale, 1.0)
    scaled, target = rows * weight[:, None], wanted * weight
    # Constants of very different sizes: columns of length one keep the tolerance meaningful.
    length = np.linalg.norm(scaled, axis=0)
    length[length == 0.0] = 1.0
    scaled = scaled / length
    count = scaled.shape[1]
    free = np.zeros(count, dtype=bool)
    x = np.zeros(count)
    for _ in range(10 * count):
        gradient = scaled.T @ (target - scaled @ x)
        gradient[free] = -np.inf
        best = int(np.argmax(gradient))
        if not gradient[best] > 1e-9:
            break
        free[best] = True
        x = _within(scaled, target, x, free)
    result: Array = x / length
    return result


def _within(rows: Array, target: Array, x: Array, free: Array) -> Array:
    """The least squares of the free constants; those that would fall below zero are fixed there again."""
    while free.any():
        trial = np.zeros_like(x)
        trial[free] = np.linalg.lstsq(rows[:, free], target, rcond=None)[0]
        below = free & (trial <= 0.0)
        if not below.any():
            return trial
        step = np.min(x[below] / np.maximum(x[below] - trial[below], 1e-30))
        x = x + step * (trial - x)
        free &= x > 1e-12
        x[~free] = 0.0
    return x
