"""Node cases as one program for a bare machine: it runs each model on its inputs and prints the outputs in hex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tilewright.graph import Array
from tilewright.plan import InterfaceTensor

from conformance.build import Generated
from conformance.cases import NodeCase
from conformance.run import compare

_BYTES_PER_LINE = 64


@dataclass(frozen=True)
class OnTarget:
    """A case with its C for the target."""

    case: NodeCase
    model: Generated


def program(cases: Sequence[OnTarget]) -> str:
    """A C source with all models in it and a main; printed lines are ``<prefix> <status>`` and hex digits."""
    units = [name for item in cases for name in sorted(item.model.files) if name.endswith(".c")]
    lines = ["#include <stdio.h>", *(f'#include "{name}"' for name in units), _PRINT]
    for item in cases:
        lines += _function(item)
    lines += ["int main(void)", "{", *(f"    run_{item.model.prefix}();" for item in cases), "    return 0;", "}"]
    return "\n".join(lines) + "\n"


_PRINT = """
static void print_bytes(const void *data, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < count; i++) {
        putchar(digits[bytes[i] / 16u]);
        putchar(digits[bytes[i] % 16u]);
        if (i % 64u == 63u || i + 1u == count) {
            putchar('\\n');
        }
    }
}
"""


def _function(item: OnTarget) -> list[str]:
    prefix, plan = item.model.prefix, item.model.plan
    lines = [f"static void run_{prefix}(void)", "{"]
    for group, tensors in (("inputs", plan.inputs), ("outputs", plan.outputs)):
        for tensor in tensors:
            values = item.case.inputs[tensor.name] if group == "inputs" else None
            lines += _array(f"{group}_{tensor.identifier}", tensor, values)
        fields = [f".{t.identifier} = (void *){group}_{t.identifier}" for t in tensors]
        if fields:
            lines.append(f"    const struct {prefix}_{group} {group} = {{{', '.join(fields)}}};")
    arguments = ", ".join(f"&{group}" for group in ("inputs", "outputs") if getattr(plan, group))
    lines.append(f'    printf("{prefix} %d\\n", (int){prefix}_run({arguments}));')
    lines += [f"    print_bytes(outputs_{t.identifier}, sizeof outputs_{t.identifier});" for t in plan.outputs]
    return [*lines, "}", ""]


def _array(name: str, tensor: InterfaceTensor, values: Array | None) -> list[str]:
    size = int(np.prod(tensor.shape, dtype=np.int64)) * np.dtype(tensor.dtype).itemsize
    declared = f"    static _Alignas(16) unsigned char {name}[{size}]"
    if values is None:
        return [f"{declared};"]
    content = np.ascontiguousarray(values).tobytes()
    rows = [content[first : first + _BYTES_PER_LINE] for first in range(0, size, _BYTES_PER_LINE)]
    return [f"{declared} = {{", *("        " + ", ".join(f"{byte}" for byte in row) + "," for row in rows), "    };"]


def problems(cases: Sequence[OnTarget], printed: str) -> dict[str, str]:
    """Cases whose printed outputs are not as ONNX wants them: name, and what is wrong."""
    blocks = _blocks(printed)
    found = {}
    for item in cases:
        status, content = blocks.get(item.model.prefix, ("nothing printed", b""))
        problem = "" if status == "0" else f"status {status}"
        position = 0
        for tensor in item.model.plan.outputs:
            wanted = item.case.outputs[tensor.name]
            if problem or (tensor.dtype, tensor.shape) != (wanted.dtype.name, wanted.shape):
                problem = problem or f"{tensor.name}: {tensor.dtype}{list(tensor.shape)}"
                break
            got = np.frombuffer(content[position : position + wanted.nbytes], wanted.dtype).reshape(wanted.shape)
            position += wanted.nbytes
            problem = compare(got, wanted, item.case.rtol, item.case.atol)
        if problem:
            found[item.case.name] = problem
    return found


def _blocks(printed: str) -> Mapping[str, tuple[str, bytes]]:
    """What each model printed: its status and the bytes of its outputs."""
    blocks: dict[str, tuple[str, bytes]] = {}
    prefix = ""
    for line in printed.splitlines():
        if " " in line:
            prefix, _, status = line.partition(" ")
            blocks[prefix] = (status, b"")
        elif prefix:
            status, content = blocks[prefix]
            blocks[prefix] = (status, content + bytes.fromhex(line))
    return blocks
