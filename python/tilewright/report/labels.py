"""Short names of layers and buffers for people; the model's own names stand beside them in JSON, hints and ``where``.

Before:  buffer MobilenetV1/MobilenetV1/Conv2d_3_depthwise/Relu6;...;FusedBatchNormV3, which layer 7 writes
After:   07 output
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tilewright.plan import BufferKind, Layer, Plan
from tilewright.plan.stages import stages_of
from tilewright.report.touches import Touched, touched_buffers

LONGEST_OWN = 26
"""Characters of a buffer's own name that needs no other one."""

_KINDS = {BufferKind.TILE: " tile", BufferKind.SCRATCH: " scratch", BufferKind.CONSTANT: " constant"}


def layer_labels(plan: Plan) -> dict[str, str]:
    """Each layer's, and each group's, name in the plan with its label."""
    labels = {layer.name: layer.label or layer.name for layer in plan.layers}
    for layer in (step for step in plan.program if isinstance(step, Layer)):
        first, last = (labels.get(layer.stages[at].name, layer.stages[at].name) for at in (0, -1))
        labels.setdefault(layer.name, f"{first} to {last}")
    return labels


def buffer_labels(plan: Plan) -> dict[str, str]:
    """A label for each buffer whose own name is long: its layer's number and what it is there; all are different."""
    touched = touched_buffers(plan)
    labels = layer_labels(plan)
    numbers = [labels.get(stage.name, stage.name).partition(" ")[0] for stage in stages_of(plan.program)]
    interface = {item.buffer: item.identifier for item in (*plan.inputs, *plan.outputs)}
    found: dict[str, str] = {}
    taken = Counter(buffer.name for buffer in plan.buffers if len(buffer.name) <= LONGEST_OWN)
    for buffer in plan.buffers:
        if len(buffer.name) <= LONGEST_OWN:
            continue
        own = interface.get(buffer.name, "")
        label = own if own and len(own) <= LONGEST_OWN else _label(buffer.kind, touched[buffer.name], numbers)
        taken[label] += 1
        found[buffer.name] = label if taken[label] == 1 else f"{label} {taken[label]}"
    return found


def _label(kind: BufferKind, use: Touched, numbers: list[str]) -> str:
    users = sorted({*use.written, *use.read})
    if kind in _KINDS and users:
        return f"{numbers[users[0]]}{_KINDS[kind]}"
    if use.written:
        return f"{numbers[use.written[0]]} output"
    return f"{numbers[users[0]]} input" if users else kind.value


def all_labels(plan: Plan) -> Mapping[str, Mapping[str, str]]:
    """``layers`` and ``buffers``, each from name to label, where the two differ."""
    layers = {name: label for name, label in layer_labels(plan).items() if label != name}
    return {"layers": layers, "buffers": buffer_labels(plan)}
