"""Models whose input is fed, built on this machine under sanitizers and fed any number of rows at a time."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
from conformance.build import Generated, build_units, runtime_library
from tilewright.graph import Array
from tilewright.plan import InterfaceTensor, Plan

from support.host_runs import OBJECTS, RUN_SECONDS

_MAIN = """
static void *bytes_of(size_t size)
{{
    void *memory = malloc(size);
    if (memory == NULL) {{ exit(95); }}
    memset(memory, 0xa5, size);
    return memory;
}}
int main(int count, char **words)
{{
    (void)count;
    FILE *in = fopen(words[1], "rb");
    FILE *out = fopen(words[2], "wb");
    uint8_t *image = bytes_of({size});
    if (in == NULL || out == NULL || fread(image, 1, {size}, in) != {size}) {{ return 90; }}
    {others}
    struct net_feeding feeding = {{0}};
    for (int word = 3; word < count; word++) {{
        const uint32_t most = (uint32_t)atoi(words[word]);
        {outputs}
        {pools}
        if (most == 0) {{
            const int status = (int)net_run(&feeding, (const void *)image, {arguments});
            if (status != 0) {{ return status; }}
        }} else {{
            if (net_start(&feeding, {arguments}) != NET_OK) {{ return 81; }}
            for (uint32_t row = 0; row < {rows}; row += most) {{
                const uint32_t given = most < {rows} - row ? most : {rows} - row;
                /* A buffer of its own, which is gone when the call is over. */
                uint8_t *some = bytes_of(given * {row_bytes});
                memcpy(some, image + row * {row_bytes}, given * {row_bytes});
                const int status = (int)net_feed_{identifier}(&feeding, (const void *)some, given);
                free(some);
                if (status != 0) {{ return status; }}
            }}
            if (net_finish(&feeding) != NET_OK) {{ return 82; }}
        }}
        {written}
    }}
    free(image);
    {freed}
    return fclose(out);
}}
"""


def fed_input(plan: Plan) -> InterfaceTensor:
    """The input that the caller gives row by row."""
    (item,) = (item for item in plan.inputs if item.fed_axis is not None)
    return item


def rows_of(item: InterfaceTensor, array: Array) -> Array:
    """The rows of an array of the input's shape, as the caller gives them: [rows, *row]."""
    assert item.fed_axis is not None
    return np.ascontiguousarray(np.moveaxis(array.reshape(item.shape), item.fed_axis, 0))


def _size(item: InterfaceTensor) -> int:
    return prod(item.shape) * np.dtype(item.dtype).itemsize


def _made(name: str, size: str) -> str:
    return f"void *{name} = bytes_of({size});"


def driver(plan: Plan) -> str:
    """``main`` of a program with the arguments <inputs> <outputs> <rows at a time>...; 0 stands for ``<p>_run``."""
    item = fed_input(plan)
    others = [other for other in plan.inputs if other is not item]
    pools = [use.pool for use in plan.pool_use if use.used_bytes and _is_writable(plan, use.pool)]
    lines = [_made(f"in{n}", str(_size(other))) for n, other in enumerate(others)]
    lines += [
        f"if (fread(in{n}, 1, {_size(other)}, in) != {_size(other)}) {{ return 90; }}" for n, other in enumerate(others)
    ]
    if others:
        lines.append(f"struct net_inputs inputs = {{{', '.join(f'in{n}' for n in range(len(others)))}}};")
    given = plan.callers_outputs
    outputs = [_made(f"out{n}", str(_size(other))) for n, other in enumerate(given)]
    if given:
        outputs.append(f"struct net_outputs outputs = {{{', '.join(f'out{n}' for n in range(len(given)))}}};")
    made = [_made(f"pool{n}", f"NET_POOL_{pool}_SIZE".upper()) for n, pool in enumerate(pools)]
    made.append(f"struct net_pools pools = {{{', '.join(f'pool{n}' for n in range(len(pools)))}}};")
    placed = [f"net_output_{other.identifier}({'&pools' if pools else ''})" for other in plan.outputs]
    found = [f"out{n}" if given else address for n, address in enumerate(placed)]
    written = [f"fwrite({found[n]}, 1, {_size(other)}, out);" for n, other in enumerate(plan.outputs)]
    written += [f"free(out{n});" for n in range(len(given))]
    written += [f"free(pool{n});" for n in range(len(pools))]
    arguments = [*(["&inputs"] if others else []), *(["&outputs"] if given else []), *(["&pools"] if pools else [])]
    rows = item.shape[item.fed_axis or 0]
    return _MAIN.format(
        size=_size(item),
        others="\n    ".join(lines),
        outputs=" ".join(outputs),
        pools=" ".join(made) if pools else "",
        arguments=", ".join(arguments),
        rows=f"{rows}u",
        row_bytes=f"{_size(item) // rows}u",
        identifier=item.identifier,
        written=" ".join(written),
        freed=" ".join(f"free(in{n});" for n in range(len(others))),
    )


def _is_writable(plan: Plan, name: str) -> bool:
    return any(pool.name == name and pool.access.value == "rw" for pool in plan.pools)


def fed_outputs(
    built: Generated, feeds: Mapping[str, Array], folder: Path, counts: Sequence[int]
) -> list[dict[str, Array]]:
    """The outputs by name for each number of rows at a time; 0 stands for ``<p>_run``.

    A sanitizer's complaint is an error.
    """
    plan, item = built.plan, fed_input(built.plan)
    executable = build_units(folder, [built], runtime_library(OBJECTS), driver(plan))
    given, got = folder / "inputs", folder / "outputs"
    others = [feeds[other.name] for other in plan.inputs if other is not item]
    arrays = [rows_of(item, feeds[item.name]), *others]
    given.write_bytes(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
    command = [str(word) for word in (executable, given, got, *counts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    content, position, found = got.read_bytes(), 0, []
    for _ in counts:
        outputs = {}
        for other in plan.outputs:
            part = np.frombuffer(content[position : position + _size(other)], np.dtype(other.dtype))
            outputs[other.name] = part.reshape(other.shape)
            position += _size(other)
        found.append(outputs)
    return found
