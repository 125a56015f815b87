"""All generated files of a model: C, headers, plan and memory map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilewright.base.c_names import in_comment
from tilewright.codegen.buffers import Array, storage_of
from tilewright.codegen.context import ShapeText
from tilewright.codegen.interface import interface_texts, signature
from tilewright.codegen.layers import LayerWriter
from tilewright.codegen.left_copies import left_copies
from tilewright.codegen.pools import pool_text
from tilewright.codegen.profiling import profile_text
from tilewright.codegen.render import render
from tilewright.plan import Layer, Plan, kernel_steps
from tilewright.plan.json import dumps
from tilewright.report.text import report_text

_HEADERS = ("tilewright/layer_hook.h", "tilewright/runtime.h", "tilewright/tile.h")


@dataclass(frozen=True, slots=True)
class _Model:
    """What the banner names; headers leave the hash out, so that new weights do not touch whoever includes them."""

    tool_version: str
    model: str
    sha256: str
    platform: str


def generate_files(
    plan: Plan, constants: Mapping[str, Array], lifetimes: Mapping[str, tuple[int, int]]
) -> dict[str, bytes]:
    """File name to content; a pure function of plan and constants.

    ``constants`` maps the sha256 of each constant buffer to its elements in memory order;
    ``lifetimes`` gives half-open ticks for comments.
    """
    storage = storage_of(plan)
    prefix = plan.name
    inputs = interface_texts(storage, plan.inputs, "INPUT")
    outputs = interface_texts(storage, plan.outputs, "OUTPUT")
    called = signature(storage, inputs, outputs)
    pools = [pool_text(storage, pool, lifetimes) for pool in storage.pools]
    pinned_pools = [pool_text(storage, pool, lifetimes) for pool in storage.pinned_pools]
    constant_pools = [pool_text(storage, pool, lifetimes, constants) for pool in storage.constant_pools]
    common: dict[str, Any] = {
        "prefix": prefix,
        "macro": prefix.upper(),
        "model": _Model(plan.tool_version, in_comment(plan.model), plan.model_sha256[:16], in_comment(plan.platform)),
        "parameters": called.parameters,
        "arguments": called.arguments,
        "accessor_parameters": called.accessor_parameters,
        "accessors": [*inputs, *outputs] if plan.io_in_pools else [],
        "pools": [*pools, *pinned_pools],
        "pinned_pools": pinned_pools,
        "constant_pools": constant_pools,
        "static_pools": pools if plan.static_pools else [],
        "profile": profile_text(storage) if plan.profile is not None else None,
    }
    for_headers = {**common, "model": replace(common["model"], sha256="")}
    files = {
        f"{prefix}.h": render(
            "header.h.j2",
            guard=f"{prefix}_H".upper(),
            interface=[*inputs, *outputs],
            inputs=[] if plan.io_in_pools else inputs,
            outputs=[] if plan.io_in_pools else outputs,
            pool_members=[] if plan.static_pools else pools,
            io_in_pools=plan.io_in_pools,
            io_pool=plan.io_pool,
            stack_bytes=plan.stack_bytes,
            **for_headers,
        ),
        f"{prefix}_layout.h": render("layout.h.j2", guard=f"{prefix}_LAYOUT_H".upper(), **for_headers),
        f"{prefix}.c": _source(plan, common, called.pointers),
        f"{prefix}_weights.c": render("weights.c.j2", **common),
        f"{prefix}_plan.json": dumps(plan),
        f"{prefix}_memory_map.txt": report_text(plan),
    }
    if plan.static_pools:
        files[f"{prefix}_pools.c"] = render("pools.c.j2", **common)
    return {name: text.encode() for name, text in sorted(files.items())}


def _source(plan: Plan, common: Mapping[str, Any], pointers: tuple[tuple[str, str], ...]) -> str:
    storage = storage_of(plan)
    left = left_copies(plan.program)
    writer = LayerWriter(storage, {link.name: number for number, link in enumerate(plan.links)}, left, {})
    layers = [step for step in plan.program if isinstance(step, Layer)]
    texts = [
        writer.layer(number, layer, facts)
        for number, (layer, facts) in enumerate(zip(layers, plan.layers, strict=True))
    ]
    shapes = [
        ShapeText(name, stride or (0,), extent or (1,), origin or (0,), *ring)
        for (stride, extent, origin, ring), name in writer.shared_shapes.items()
    ]
    context = f"const struct {plan.name}_context"
    forked = plan.core.called_on == "controller"
    passed = [(context, "context")] if common["arguments"] else []
    passed += [("struct tilewright_handover", "handover")] if left else []
    profile_header = ["tilewright/profile.h"] if plan.profile is not None else []
    split_header = ["tilewright/split.h"] if any(step.split for step in kernel_steps(plan.program)) else []
    return render(
        "source.c.j2",
        headers=[*_HEADERS, *split_header, *profile_header, *plan.kernel_headers],
        context_parameter=f"{context} *context" if common["arguments"] else "void",
        layer_parameters=", ".join(f"{c_type} *{name}" for c_type, name in passed) or "void",
        layer_types=", ".join(f"{c_type} *" for c_type, _ in passed) or "void",
        layer_arguments=", ".join("context" if forked and name == "context" else f"&{name}" for _, name in passed),
        hands_over=bool(left),
        shapes=shapes,
        layers=texts,
        forked=forked,
        cores=plan.core.count,
        pointer_bytes=plan.core.pointer_bytes,
        pointers=pointers,
        **common,
    )
