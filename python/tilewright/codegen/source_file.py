"""The source file of a model: layers, the run function, and the constants that both use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.codegen.buffers import Array, Storage
from tilewright.codegen.entry import Entry, accessor_functions, entry_functions, opening_lines
from tilewright.codegen.feeding import feed_text
from tilewright.codegen.guard_table import corruption_functions
from tilewright.codegen.handed_over import handed_over_copies
from tilewright.codegen.interface import InterfaceText, Signature
from tilewright.codegen.layer_function import Surroundings
from tilewright.codegen.layer_scope import ModelScope
from tilewright.codegen.layers import layer_text
from tilewright.codegen.pools import PoolText
from tilewright.codegen.profiling import profile_text
from tilewright.codegen.reset import reset_functions
from tilewright.codegen.template_lines import LayerText, ShapeText
from tilewright.codegen.weights_file import numbers_of, set_weights_function, weights_opening
from tilewright.codegen.window_runs import slide_text
from tilewright.plan import CopyStart, Plan, kernel_steps
from tilewright.plan.stages import numbered_layers, plain_steps

_HEADERS = ("tilewright/layer_hook.h", "tilewright/runtime.h", "tilewright/tile.h")


def source_text(
    storage: Storage,
    signature: Signature,
    accessors: Sequence[InterfaceText],
    constant_pools: Sequence[PoolText],
    constants: Mapping[str, Array],
) -> dict[str, Any]:
    """The values that the template of the source file prints beside the banner; ``constants`` has contents by hash."""
    plan = storage.plan
    left = handed_over_copies(plan.program)
    profile = profile_text(storage) if plan.profile is not None else None
    entry = Entry(
        storage,
        signature,
        tuple(constant_pools),
        bool(left),
        plan.core.called_on == "controller",
        plan.core.count,
        None if plan.slide is not None else feed_text(storage, signature),
        slide_text(storage),
    )
    around = Surroundings(plan.name, entry.layer_parameters, tuple(name for _, name in entry.passed), profile)
    numbers = numbers_of(plan) if plan.external is not None else None
    model = ModelScope(
        storage, around, {link.name: number for number, link in enumerate(plan.links)}, left, {}, numbers
    )
    layers = _layers(plan, model)
    functions = tuple(layer.function for layer in layers)
    return {
        "headers": _headers(plan),
        "opening": (*weights_opening(storage), *opening_lines(entry, plan.core.pointer_bytes)),
        "shapes": [
            ShapeText(name, stride or (0,), extent or (1,), origin or (0,), *ring)
            for (stride, extent, origin, ring), name in model.shared_shapes.items()
        ],
        "layers": layers,
        "entry": (
            *accessor_functions(signature, accessors, profile, plan.name),
            *set_weights_function(storage),
            *corruption_functions(storage, signature),
            *reset_functions(storage, signature, constants),
            *entry_functions(entry, functions),
        ),
    }


def _layers(plan: Plan, model: ModelScope) -> list[LayerText]:
    found = []
    for item in numbered_layers(plan.program):
        facts = plan.layers[item.first : item.first + len(item.layer.stages)]
        found.append(layer_text(model, item.first, item.layer, facts))
    return found


def _headers(plan: Plan) -> list[str]:
    split = ["tilewright/split.h"] if any(step.split for step in kernel_steps(plan.program)) else []
    copies = (step for step in plain_steps(plan.program) if isinstance(step, CopyStart))
    words = ["tilewright/words.h"] if any(step.words for step in copies) else []
    profile = ["tilewright/profile.h"] if plan.profile is not None else []
    guards = ["tilewright/guard.h"] if plan.guards is not None else []
    external = ["tilewright/weights.h"] if plan.external is not None else []
    protect = ["tilewright/protect.h"] if plan.protected else []
    return [*_HEADERS, *split, *words, *profile, *guards, *protect, *external, *plan.kernel_headers]
