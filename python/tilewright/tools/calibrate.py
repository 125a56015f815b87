"""Fits the constants of the cost model to measured profiles.

The cost model is linear in its constants, which are fitted in three steps:

1. Cycles in kernels: per split call, per row, and for each kernel per call and as a factor on its formula.
2. The core's cycles between kernels and waits: per layer, per tile, per command of a link.
3. The core's cycles in waits for copies: per command, line and byte of a link.

Steps 2 and 3 use layers with single buffers alone. Each step minimises the relative errors by least
squares, with no constant below zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import bad_input
from tilewright.base.inputs import read_utf8
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.platform.costs import Costs, KernelCost, kernel_key
from tilewright.tools.measurements import PROFILE_FORMAT

_LEAST_RATIO_OF_WORK = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One layer of a profile: its work and its measured cycles.

    Attributes:
        kernel: the kernel's key in [cost.kernels].
        tiles: tiles of the layer.
        calls: kernel calls.
        split_calls: kernel calls that several cores share.
        kernel_work: cycles by the kernel's own formula, before its factor.
        loads: link to (commands, lines, bytes).
        slots: slots of the layer's tile buffers; 1 is single-buffered.
        cycles: measured cycles of the layer.
        kernel_cycles: measured cycles in kernel calls.
        wait_cycles: measured cycles in waits for copies.
        rows: rows of adjacent elements of elementwise kernels, but the first of each call.
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
    rows: int = 0


@dataclass(frozen=True, slots=True)
class LinkCost:
    """The costs of a link: core cycles for a command, cycles for each line, and bytes in a cycle."""

    setup_cycles: float
    line_cycles: float
    bytes_per_cycle: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """Constants of the cost model; ``largest_error`` is the largest relative error of a layer's kernel cycles."""

    costs: Costs
    links: Mapping[str, LinkCost] = field(default_factory=dict)
    largest_error: float = 0.0


def read_samples(paths: Iterable[Path], platform: str) -> list[Sample]:
    """The layers of all profiles. Raises bad_input for a file that is no profile, or is of another platform."""
    samples: list[Sample] = []
    for path in paths:
        try:
            content = json.loads(read_utf8(path))
        except OSError as error:
            raise bad_input(
                "profile-file", f"cannot read the profile: {error.strerror or error}", at=str(path)
            ) from error
        except (ValueError, RecursionError) as error:
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
        rows=work.get("rows", 0),
    )


def fit(
    samples: Sequence[Sample],
    same_links: Mapping[str, str] | None = None,
    widths: Mapping[str, float] | None = None,
) -> Fitted:
    """The constants that explain the samples best; the same samples give the same constants.

    ``same_links`` maps a link to the link whose costs it shares, for example L1->L2 to L2->L1; ``widths``
    maps a link to the bytes per cycle that it cannot exceed.
    """
    kernels, fork_cycles, row_cycles = _fit_kernels(samples)
    layer_cycles, tile_cycles, links = _fit_loops(samples, same_links or {}, widths or {})
    costs = Costs(layer_cycles, tile_cycles, fork_cycles, row_cycles, kernels)
    errors = [
        abs(_kernel_cycles(sample, costs) - sample.kernel_cycles) / sample.kernel_cycles
        for sample in samples
        if sample.kernel_cycles
    ]
    return Fitted(costs, links, max(errors, default=0.0))


def with_unmeasured(costs: Costs, before: Costs, samples: Sequence[Sample]) -> Costs:
    """The fitted ``costs`` with what ``before`` says of first calls and weights, and of what has no samples.

    Samples do not say what elements of results and points of nests cost: it is in the fitted factors.
    """
    known = dict(before.kernels)
    fitted = {
        name: replace(
            known.get(name, KernelCost()),
            call_cycles=cost.call_cycles,
            factor=cost.factor,
            element_cycles=0.0,
            point_cycles=0.0,
        )
        for name, cost in costs.kernels
    }
    kept = {name: cost for name, cost in before.kernels if name not in fitted}
    default, *others = sorted((fitted | kept).items(), key=lambda item: (item[0] != "default", item[0]))
    row_cycles = costs.row_cycles if any(sample.rows for sample in samples) else before.row_cycles
    return replace(costs, row_cycles=row_cycles, kernels=(default, *others))


def without_first_calls(samples: Sequence[Sample], costs: Costs) -> list[Sample]:
    """The samples without the ``first_cycles`` of ``costs``, which one layer or another cannot tell from calls."""
    first = dict(costs.kernels)
    taken = [round(first.get(sample.kernel, KernelCost()).first_cycles) for sample in samples]
    return [
        replace(sample, cycles=sample.cycles - cycles, kernel_cycles=max(sample.kernel_cycles - cycles, 1))
        for sample, cycles in zip(samples, taken, strict=True)
    ]


def _kernel_cycles(sample: Sample, costs: Costs) -> float:
    cost = costs.kernel(sample.kernel)
    own = cost.call_cycles * sample.calls + cost.factor * sample.kernel_work
    return own + costs.fork_cycles * sample.split_calls + costs.row_cycles * sample.rows


def _fit_kernels(samples: Sequence[Sample]) -> tuple[tuple[tuple[str, KernelCost], ...], float, float]:
    """The costs of each kernel, and the cycles of a fork and of a row.

    The entry ``default`` is for kernels without samples.

    Calls that are all about as large cannot tell what each call costs from what its work costs: such a kernel
    gets a factor alone.
    """
    used = [sample for sample in samples if sample.kernel_cycles > 0]
    names = sorted({sample.kernel for sample in used})
    forked = any(sample.split_calls for sample in used)
    varied = {name for name in names if _work_varies([sample for sample in used if sample.kernel == name])}
    columns = 2 * len(names) + 2
    rows = np.zeros((len(used), columns))
    for row, sample in zip(rows, used, strict=True):
        at = 2 * names.index(sample.kernel)
        row[at + 1], row[-2], row[-1] = sample.kernel_work, sample.split_calls, sample.rows
        if sample.kernel in varied:
            row[at] = sample.calls
    found = least_squares(rows, np.array([sample.kernel_cycles for sample in used], dtype=np.float64))
    kernels = [
        (name, KernelCost(_rounded(found[2 * number]), max(_rounded(found[2 * number + 1], 3), 0.001)))
        for number, name in enumerate(names)
    ]
    factors = sorted(cost.factor for _, cost in kernels)
    calls = sorted(cost.call_cycles for _, cost in kernels)
    middle = len(kernels) // 2
    default = [("default", KernelCost(calls[middle], factors[middle]))] if kernels else []
    fork_cycles = _rounded(found[-2]) if forked else Costs().fork_cycles
    return (*default, *kernels), fork_cycles, _rounded(found[-1])


def _work_varies(samples: Sequence[Sample]) -> bool:
    """Whether the work of a call differs enough between the samples of a kernel."""
    work = [sample.kernel_work / sample.calls for sample in samples if sample.calls]
    return len(work) > 1 and max(work) >= _LEAST_RATIO_OF_WORK * min(work)


def _fit_loops(
    samples: Sequence[Sample], same_links: Mapping[str, str], widths: Mapping[str, float]
) -> tuple[float, float, dict[str, LinkCost]]:
    """Cycles of a layer, cycles of a tile, and the costs of each link (steps 2 and 3).

    Layers with double buffers are left out: they hide a part of their copies behind kernels.
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
    """Cycles of a command, a line and a byte of each link: float64[3 * links].

    The core waits less for bytes that move while it starts other copies, so a fit alone can find a link
    faster than its width. Such a link gets the cycles per byte of its width, and the rest is fitted again.

    Args:
        rows: float64[samples, 3 * links], commands, lines and bytes of each link.
        wanted: float64[samples], measured cycles in waits.
        widths: bytes per cycle that each link cannot exceed, None if unknown.
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
    """x >= 0, float64[constants], that minimises the sum of ((rows @ x - wanted) / scale)^2.

    The algorithm is the active set method of Lawson and Hanson (Solving Least Squares Problems, 1974).

    Args:
        rows: float64[samples, constants].
        wanted: float64[samples].
        scale: float64[samples], raised to at least 1; ``wanted`` if absent.
    """
    weight = 1.0 / np.maximum(wanted if scale is None else scale, 1.0)
    scaled, target = rows * weight[:, None], wanted * weight
    # The constants differ by orders of magnitude; columns of length 1 let one tolerance serve all.
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
    """The least squares solution over the free constants; a constant that would fall below zero becomes 0 and fixed."""
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
