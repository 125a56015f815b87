"""The C files of a golden test: a firmware that runs a model on stored vectors and compares on the target.

The vectors become C arrays, with tables and a ``main`` beside them; runtime/test_support has the code
that runs and compares. The names, shapes and types of inputs and outputs come from the model's plan.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.archives import ArchiveError, read_archive
from tilewright.base.c_names import text_part
from tilewright.base.errors import bad_input, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import storage_of
from tilewright.codegen.interface import C_TYPES, storage_bytes
from tilewright.codegen.render import render
from tilewright.codegen.window_runs import early_runs
from tilewright.graph import Array, Graph
from tilewright.plan import InterfaceTensor, Plan, Pool
from tilewright.tools.golden_layers import byte_lines, golden_type, layer_tensors, stored_bytes
from tilewright.tools.manifest import sha256_hex

_TOLERANCE = re.compile(r"(?P<absolute>[^:]+):(?P<relative>[^:]+)")


@dataclass(frozen=True, slots=True)
class GoldenRequest:
    """One golden test.

    Attributes:
        plan: the model's plan.
        inputs: npz file of input vectors.
        outputs: npz file of expected outputs.
        tolerance: ``<abs>:<rel>``.
        unit: the unit that the port counts, for example cycles.
        compared: the graph that was planned, if the outputs of every layer are compared too.
        compared_runs: the first runs in which every layer is compared.
        judge: who computed outputs that were made for this test; empty if they were given.
    """

    plan: Plan
    inputs: Path
    outputs: Path
    tolerance: str
    unit: str = "cycles"
    compared: Graph | None = None
    compared_runs: int = 0
    judge: str = ""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of the interface as the templates print it."""

    label: str
    identifier: str
    variable: str
    buffer: str
    macro: str
    c_type: str
    length: str
    kind: str
    section: str
    vector_bytes: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pool that the harness provides."""

    name: str
    macro: str
    section: str


def golden_files(request: GoldenRequest) -> dict[str, bytes]:
    """File names and contents of the test's firmware, and ``golden_manifest.json``, which lists the files.

    Raises bad_input for arrays that cannot be read or do not match the model's inputs and outputs, and for
    values that a tensor's type cannot hold; not_supported for a model whose weights are external.
    """
    plan = request.plan
    if plan.external is not None:
        what = f"a golden test of '{plan.name}', whose weights are external"
        raise not_supported("external-weights", what, help="test the model with WEIGHTS inside")
    absolute, relative = parse_tolerance(request.tolerance)
    inputs = match_arrays(plan.inputs, read_arrays(request.inputs), str(request.inputs))
    outputs = match_arrays(plan.outputs, read_arrays(request.outputs), str(request.outputs))
    runs = _common_runs([*inputs, *outputs], (*plan.inputs, *plan.outputs), request)
    context = {
        **_of_plan(plan, inputs, outputs),
        "runs": runs,
        "unit": request.unit,
        "layer_runs": 0,
        "layer_tensors": [],
        "absolute": repr(absolute),
        "relative": repr(relative),
    }
    if request.compared is not None:
        given = {item.name: array for item, array in zip(plan.inputs, inputs, strict=True)}
        context["layer_runs"] = min(request.compared_runs, runs)
        context["layer_tensors"] = layer_tensors(plan, request.compared, given, context["layer_runs"])
    names = ("golden_main.c", "golden_vectors.c", "golden_vectors.h")
    files = {name: render(f"{name}.j2", **context).encode() for name in names}
    manifest = {
        "sources": [name for name in names if name.endswith(".c")],
        "runs": runs,
        "judge": request.judge,
        "watched": bool(context["far"]),
        "compared_layers": bool(context["layer_tensors"]),
        "files": {name: sha256_hex(content) for name, content in files.items()},
    }
    return {**files, "golden_manifest.json": (json.dumps(manifest, indent=2) + "\n").encode()}


def _of_plan(plan: Plan, inputs: list[Array], outputs: list[Array]) -> dict[str, Any]:
    """The values that templates print of the plan, and of the vectors of its inputs and outputs."""
    pool = next(pool for pool in plan.pools if pool.name == plan.io_pool)
    sides = [
        [_tensor(plan, item, array, side, pool) for item, array in zip(items, arrays, strict=True)]
        for side, items, arrays in (("input", plan.inputs, inputs), ("output", plan.outputs, outputs))
    ]
    tensors = [*sides[0], *sides[1]]
    callers = [
        text for item, text in zip((*plan.inputs, *plan.outputs), tensors, strict=True) if item in plan.callers_tensors
    ]
    return {
        "prefix": plan.name,
        "inputs": sides[0],
        "outputs": sides[1],
        "tensors": tensors,
        "pools": [] if plan.static_pools else [_pool(plan, pool) for pool in storage_of(plan).pools],
        "callers": callers,
        "keeps_inputs": not plan.io_in_pools,
        "passed_inputs": [text for item, text in zip(plan.inputs, sides[0], strict=True) if _is_passed(plan, item)],
        "passed_outputs": sides[1] if plan.callers_outputs else [],
        "is_fed": any(_is_fed(plan, item) for item in plan.inputs),
        "arguments": _arguments(plan),
        "used_pools": [{"name": use.pool, "used_bytes": use.used_bytes} for use in plan.pool_use],
        "far": [*((*item, 0) for item in _far(plan, callers)), *((*item, 1) for item in _beyond(plan))],
        "links": plan.links,
        "profiled": plan.profile is not None,
        "profile_arguments": _pool_argument(plan),
        "stateful": bool(plan.states) or plan.slide is not None,
        "early": early_runs(plan),
    }


def parse_tolerance(text: str) -> tuple[float, float]:
    """The two numbers of ``<abs>:<rel>``. Raises bad_input ``bad-tolerance`` unless both are finite and at least 0."""
    match = _TOLERANCE.fullmatch(text)
    try:
        values = (float(match["absolute"]), float(match["relative"])) if match else (-1.0, -1.0)
    except ValueError:
        values = (-1.0, -1.0)
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise bad_input("bad-tolerance", f"'{text}' is not <abs>:<rel>", help="for example TOLERANCE 1e-5:1e-4")
    return values


def match_arrays(items: tuple[InterfaceTensor, ...], arrays: dict[str, Array], where: str) -> list[Array]:
    """For every tensor an array of shape [runs, *shape] and the tensor's dtype.

    Arrays match tensors by name if every tensor has an array of its name, and by order if no tensor has.
    Raises bad_input for other names, another number of arrays, and other shapes or values; ``where`` is the file.
    """
    names = [item.name for item in items]
    if all(name in arrays for name in names):
        chosen = names
    elif len(arrays) == len(items) and not any(name in arrays for name in names):
        chosen = list(arrays)
    else:
        what = f"the arrays are {_listed(list(arrays))}, the tensors {_listed(names)}"
        raise bad_input("golden-arrays", what, at=where, help="name the arrays after the tensors")
    return [_runs_of(item, arrays[name], f"{where}: {name}") for item, name in zip(items, chosen, strict=True)]


def _runs_of(item: InterfaceTensor, array: Array, where: str) -> Array:
    if array.shape == item.shape or (array.ndim <= len(item.shape) and array.size == math.prod(item.shape)):
        runs = array.reshape(1, *item.shape)
    elif array.ndim == len(item.shape) + 1 and array.shape[1:] == item.shape:
        runs = array
    else:
        what = f"the array has shape {list(array.shape)}, the tensor '{item.name}' {list(item.shape)}"
        raise bad_input("golden-shape", what, at=where, help="one more leading dimension makes it a list of runs")
    return _converted(runs, np.dtype(item.dtype), where)


def _converted(array: Array, dtype: np.dtype[Any], where: str) -> Array:
    """The array in another dtype. Raises bad_input for a value that the dtype cannot hold; floats may round."""
    if array.dtype.kind not in "biuf":
        raise bad_input("golden-type", f"the array has type {array.dtype}, which holds no numbers", at=where)
    if dtype.kind == "f":
        return array.astype(dtype)
    if array.dtype.kind == "f" and not bool(np.all(np.isfinite(array) & (array == np.rint(array)))):
        raise bad_input(
            "golden-value", f"the tensor is {dtype}, but the array has values that are no whole numbers", at=where
        )
    low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    outside = (array < low) | (array > high) if array.dtype.kind != "b" else np.zeros(array.shape, bool)
    if bool(np.any(outside)):
        value = array[outside].flat[0]
        raise bad_input("golden-value", f"{value} does not fit {dtype} ({low} to {high})", at=where)
    return array.astype(dtype)


def _common_runs(arrays: list[Array], items: tuple[InterfaceTensor, ...], request: GoldenRequest) -> int:
    counts = {item.name: len(array) for item, array in zip(items, arrays, strict=True)}
    if len(set(counts.values())) != 1:
        listed = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        where = (str(request.inputs), str(request.outputs))
        raise bad_input("golden-runs", f"arrays have different numbers of runs: {listed}", at=where)
    runs = next(iter(counts.values()))
    if runs == 0:
        raise bad_input("golden-runs", "there are no runs", at=str(request.inputs))
    return runs


def _tensor(plan: Plan, item: InterfaceTensor, array: Array, side: str, pool: Pool) -> _Tensor:
    if item.fed_axis is not None:
        # Rows lie one behind the other, those of all positions or of a run.
        array = np.moveaxis(array, 1 + item.fed_axis, 1)
    content = stored_bytes(np.ascontiguousarray(array))
    variable = f"{side}_{item.identifier}"
    macro, c_type = f"{plan.name}_{side}_{item.identifier}".upper(), C_TYPES[item.dtype]
    return _Tensor(
        label=text_part(item.identifier),
        identifier=item.identifier,
        variable=variable,
        buffer=f"(uint8_t *){variable}" if item in plan.callers_tensors else _placed_address(plan, item),
        macro=macro,
        c_type=c_type,
        length=f"{macro}_STORAGE / sizeof({c_type})" if storage_bytes(storage_of(plan), item) else f"{macro}_COUNT",
        kind=golden_type(item.dtype),
        section=_section(pool),
        vector_bytes=len(content),
        lines=byte_lines(content),
    )


def _is_fed(plan: Plan, item: InterfaceTensor) -> bool:
    """Whether rows of an input come by calls of a function of their own."""
    return item.fed_axis is not None and plan.slide is None


def _arguments(plan: Plan) -> list[str]:
    """The arguments of the model's run function, as C expressions."""
    memory = _pool_argument(plan)
    fed = [f"input_{item.identifier}" for item in plan.inputs if _is_fed(plan, item)]
    passed = (("in", any(_is_passed(plan, item) for item in plan.inputs)), ("out", bool(plan.callers_outputs)))
    sides = [f"&{side}" for side, is_there in passed if is_there]
    return [*(("&feeding", *fed) if fed else ()), *sides, *((memory,) if memory else ())]


def _is_passed(plan: Plan, item: InterfaceTensor) -> bool:
    """Whether the caller passes the address of a whole input."""
    return item in plan.callers_inputs and not _is_fed(plan, item)


def _pool_argument(plan: Plan) -> str:
    """The argument that passes the harness's pools to the model, as a C expression; empty if there are none."""
    return "&memory" if not plan.static_pools and storage_of(plan).pools else ""


def _placed_address(plan: Plan, item: InterfaceTensor) -> str:
    """The address of an input or output that the plan placed in a pool, as a constant expression in C."""
    storage = storage_of(plan)
    return storage.pool_address(item.buffer, f"pool_{storage.placements[item.buffer].pool}")


def _pool(plan: Plan, pool: Pool) -> _Pool:
    return _Pool(pool.name, f"{plan.name}_POOL_{pool.name}".upper(), _section(pool))


def _far(plan: Plan, callers: list[_Tensor]) -> list[tuple[str, str]]:
    """(Address, size) in C of each object in a pool that only links reach, so that no kernel may touch it.

    A pool is left out if only the controller copies from it and to it: neither kernels nor the test can touch such a
    pool; those that are written are in ``_beyond``.
    """
    near = {name for name, _ in plan.core.access_cycles} | _by_controller(plan)
    # The run itself looks after canaries, beside the kernels.
    near |= set(plan.guards.pools) if plan.guards is not None else set()
    storage = storage_of(plan)
    far: list[tuple[str, str]] = []
    if plan.io_pool not in near:
        far = [(tensor.variable, f"sizeof {tensor.variable}") for tensor in callers]
    arrays = f"{plan.name}_pool_" if plan.static_pools else "pool_"
    for pool in storage.pools:
        if pool.name not in near:
            far += _ranges(plan, pool, arrays + pool.name)
    for pool in storage.pinned_pools:
        if pool.name not in near:
            far += _ranges(plan, pool, f"{plan.name}_POOL_{pool.name}_POINTER".upper())
    for pool in storage.constant_pools:
        if pool.name not in near:
            far.append((f"&{plan.name}_{pool.name}", f"sizeof {plan.name}_{pool.name}"))
    return far


def _beyond(plan: Plan) -> list[tuple[str, str]]:
    """(Address, size) in C of pools to which only the controller copies, from memory that no kernel may touch."""
    apart = _by_controller(plan)
    near = {name for name, _ in plan.core.access_cycles}
    written = {link.target for link in plan.links if link.target in apart and link.source not in near}
    storage = storage_of(plan)
    return [
        (f"{plan.name}_POOL_{pool.name}_POINTER".upper(), f"{plan.name}_POOL_{pool.name}_SIZE".upper())
        for pool in storage.pinned_pools
        if pool.name in written
    ]


def _by_controller(plan: Plan) -> set[str]:
    """Pools that no link of the core joins with another."""
    by_core = {end for link in plan.links if link.issuer == "core" for end in (link.source, link.target)}
    return {pool.name for pool in plan.pools if pool.name not in by_core}


def _ranges(plan: Plan, pool: Pool, start: str) -> list[tuple[str, str]]:
    """The used bytes of a pool as (address, size) in C, without the profile, which the program itself writes."""
    size = f"{plan.name}_POOL_{pool.name}_SIZE".upper()
    place = next((item for item in plan.placements if (item.buffer, item.pool) == (plan.profile, pool.name)), None)
    if place is None:
        return [(start, size)]
    used = next(use.used_bytes for use in plan.pool_use if use.pool == pool.name)
    end = place.offset_bytes + next(buffer.size_bytes for buffer in plan.buffers if buffer.name == plan.profile)
    before = [(start, f"{place.offset_bytes}u")] if place.offset_bytes else []
    return [*before, *([(f"{start} + {end}u", f"{used - end}u")] if used > end else [])]


def _section(pool: Pool) -> str:
    """The C attribute that puts a variable into a pool's section; empty if the pool has no section."""
    return f'__attribute__((section("{pool.section}"))) ' if pool.section else ""


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an npz file by name, in the file's order. Raises bad_input ``golden-file``."""
    try:
        return read_archive(path)
    except (OSError, ArchiveError) as error:
        raise bad_input("golden-file", str(error), at=str(path)) from error


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
