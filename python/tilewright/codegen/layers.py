"""Layers of the program as C functions: one loop over tiles, or straight-line code.

Before:  Loop(oh: 7 tiles) { CopyStart x one iteration ahead, Wait x, Kernel, CopyStart y, Wait y }
After:   for (int32_t t = -1; t < 9; ++t) { if (t + 1 < 7) { fetch } ... kernel ... store }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.codegen.forks import copies_meanwhile, joined
from tilewright.codegen.handed_over import steps_of
from tilewright.codegen.layer_comment import layer_comment
from tilewright.codegen.layer_function import LayerFunction
from tilewright.codegen.layer_parts import (
    home_strides_constants,
    part_functions,
)
from tilewright.codegen.layer_scope import LayerParts, LayerScope, ModelScope
from tilewright.codegen.layer_steps import step_text
from tilewright.codegen.stage_records import recorded
from tilewright.codegen.template_lines import LayerText
from tilewright.codegen.waits import needless_waits
from tilewright.plan import (
    Kernel,
    Layer,
    LayerFacts,
    Wait,
)
from tilewright.plan.stages import function_name


def layer_text(model: ModelScope, number: int, layer: Layer, facts: Sequence[LayerFacts]) -> LayerText:
    """The C text of a layer; ``number`` is the number of its first stage, ``facts`` has one entry for each stage."""
    found = steps_of(layer)
    loop = found.loop
    kernels = tuple(step for step in found.all if isinstance(step, Kernel))
    stem = function_name(model.storage.prefix, number, layer)
    scope = LayerScope(model, stem, kernels, loop, found.all, LayerParts())
    parts = scope.parts
    parts.needless.update(needless_waits((*found.early, *found.body), scope.indices(), len(found.early)))
    ordered, behind = (
        [step for step in part if not isinstance(step, Wait) or step.token not in parts.needless]
        for part in (copies_meanwhile(found.body), found.after)
    )
    outside = replace(scope, loop=None)
    early, ready, after = (
        tuple(step_text(outside, step) for step in part) for part in (found.early, found.ready, behind)
    )
    steps = tuple(step_text(scope, step) for step in ordered)
    if model.around.profile is not None and len(layer.stages) > 1:
        early, ready = recorded(layer, found.early, early), recorded(layer, found.ready, ready)
        steps, after = recorded(layer, ordered, steps), recorded(layer, behind, after)
    if any(kernel.split is not None for kernel in kernels):
        steps = joined(steps, looped=loop is not None)
    function = LayerFunction(
        name=stem,
        record=number,
        stages=len(layer.stages),
        tokens=tuple(parts.tokens.items()),
        early=early,
        ready=ready,
        steps=steps,
        after=after,
        takes_over=bool(found.taken_over),
        iterations=loop.iterations if loop is not None else None,
        hands_over=scope.hands_over(),
        is_fed=any(model.storage.fed_row_bytes(operand.buffer) for kernel in kernels for operand in kernel.reads),
    )
    return LayerText(
        comment=layer_comment(model.storage, layer.stages, facts, kernels, loop),
        constants=(*scope.attributes(), *home_strides_constants(parts.home_strides)),
        functions=(
            *parts.tile_functions.values(),
            *part_functions((*ready, *steps, *after)),
            function.text(model.around),
        ),
    )
