"""All generated files of a model: C, headers, plan and memory map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.base.c_names import in_comment
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Array, Storage, storage_of
from tilewright.codegen.constant_check import constant_check_lines
from tilewright.codegen.feeding import feed_text
from tilewright.codegen.interface import InterfaceText, Signature, interface_texts, signature
from tilewright.codegen.pools import PoolText, pool_text
from tilewright.codegen.profiling import profile_text
from tilewright.codegen.render import render
from tilewright.codegen.source_file import source_text
from tilewright.codegen.weights_file import file_bytes, weights_file
from tilewright.codegen.window_runs import slide_text
from tilewright.plan import Plan
from tilewright.plan.json import dumps
from tilewright.plan.layout_hash import layout_hash
from tilewright.report.text import report_text


@dataclass(frozen=True, slots=True)
class _Model:
    """The facts in a file's banner. Headers have no hash, so that new weights do not rebuild what includes a header."""

    tool_version: str
    model: str
    sha256: str
    platform: str


def _state_pools(plan: Plan) -> str:
    """The pools in which states lie, for a sentence."""
    found = {state.found for state in plan.states}
    return " and ".join(dict.fromkeys(item.pool for item in plan.placements if item.buffer in found))


@dataclass(frozen=True, slots=True)
class _Texts:
    """What several files print of a plan.

    Attributes:
        called: parameters and arguments of the functions of a run.
        pools: arrays that the caller or ``<p>_pools.c`` provides; ``pinned_pools`` have addresses of their own.
        constant_pools: pools whose contents are compiled in; ``file_pools`` come with external weights.
    """

    inputs: list[InterfaceText]
    outputs: list[InterfaceText]
    called: Signature
    pools: list[PoolText]
    pinned_pools: list[PoolText]
    constant_pools: list[PoolText]
    file_pools: list[PoolText]


def generate_files(
    plan: Plan, constants: Mapping[str, Array], lifetimes: Mapping[str, tuple[int, int]]
) -> dict[str, bytes]:
    """File name to content of all generated files; the same arguments give the same bytes.

    ``constants`` maps the sha256 of each constant buffer to its elements in memory order;
    ``lifetimes`` gives half-open ticks for comments.
    """
    storage = storage_of(plan)
    texts = _texts(storage, constants, lifetimes)
    common = _common(storage, texts)
    for_headers = {**common, "model": replace(common["model"], sha256="")}
    prefix, called, accessors = plan.name, texts.called, common["accessors"]
    source = source_text(storage, called, accessors, texts.constant_pools, constants)
    check = constant_check_lines(storage, constants)
    files = {
        f"{prefix}.h": render("header.h.j2", **_of_header(storage, texts), **for_headers),
        f"{prefix}_layout.h": render("layout.h.j2", guard=f"{prefix}_LAYOUT_H".upper(), **for_headers),
        f"{prefix}.c": render("source.c.j2", **common, **source),
        f"{prefix}_weights.c": render("weights.c.j2", model_sha256=plan.model_sha256, check=check, **common),
        f"{prefix}_plan.json": dumps(plan),
        f"{prefix}_memory_map.txt": report_text(plan),
    }
    if plan.static_pools:
        files[f"{prefix}_pools.c"] = render("pools.c.j2", **common)
    written = {name: text.encode() for name, text in files.items()}
    if plan.external is not None:
        written[f"{prefix}_weights.bin"] = weights_file(plan, constants)
    return dict(sorted(written.items()))


def _texts(storage: Storage, constants: Mapping[str, Array], lifetimes: Mapping[str, tuple[int, int]]) -> _Texts:
    plan = storage.plan
    inputs = interface_texts(storage, plan.inputs, "INPUT")
    outputs = interface_texts(storage, plan.outputs, "OUTPUT")
    in_file = storage.read_only_pools if plan.external is not None else ()
    return _Texts(
        inputs=inputs,
        outputs=outputs,
        called=signature(storage, inputs, outputs),
        pools=[pool_text(storage, pool, lifetimes) for pool in storage.pools],
        pinned_pools=[pool_text(storage, pool, lifetimes) for pool in storage.pinned_pools],
        constant_pools=[pool_text(storage, pool, lifetimes, constants) for pool in storage.constant_pools],
        file_pools=[pool_text(storage, pool, lifetimes) for pool in in_file],
    )


def _common(storage: Storage, texts: _Texts) -> dict[str, Any]:
    """What the templates of all files get."""
    plan = storage.plan
    return {
        "prefix": plan.name,
        "macro": plan.name.upper(),
        "model": _Model(plan.tool_version, in_comment(plan.model), plan.model_sha256[:16], in_comment(plan.platform)),
        "parameters": texts.called.parameters,
        "accessor_parameters": texts.called.accessor_parameters,
        "accessors": [item for item in (*texts.inputs, *texts.outputs) if item.address],
        "pools": [*texts.pools, *texts.pinned_pools],
        "pinned_pools": texts.pinned_pools,
        "constant_pools": texts.constant_pools,
        "file_pools": texts.file_pools,
        "external": plan.external,
        "static_pools": texts.pools if plan.static_pools else [],
        "profile": profile_text(storage) if plan.profile is not None else None,
    }


def _of_header(storage: Storage, texts: _Texts) -> dict[str, Any]:
    """What only the template of the header gets."""
    plan, inputs, outputs = storage.plan, texts.inputs, texts.outputs
    return {
        "guard": f"{plan.name}_H".upper(),
        "interface": [*inputs, *outputs],
        "inputs_of_model": inputs,
        "outputs_of_model": outputs,
        "converts": any(item.range is not None for item in (*inputs, *outputs)),
        "fixed_pools": plan.static_pools and bool(texts.pools),
        "inputs": [item for item in inputs if item.is_passed],
        "feed": None if plan.slide is not None else feed_text(storage, texts.called),
        "slide": slide_text(storage),
        "outputs": [item for item in outputs if item.is_passed],
        "pool_members": [] if plan.static_pools else texts.pools,
        "inputs_in_pools": plan.io_in_pools,
        "outputs_in_pools": not plan.callers_outputs,
        "io_pool": plan.io_pool,
        "stack_bytes": plan.stack_bytes,
        "states": [(in_comment(state.input), in_comment(state.output)) for state in plan.states],
        "state_pools": _state_pools(plan),
        "layout_hash": layout_hash(plan),
        "check_constants": plan.check_constants,
        "guards": plan.guards,
        "protected": plan.protected,
        "weights_bytes": file_bytes(plan) if plan.external is not None else 0,
    }
