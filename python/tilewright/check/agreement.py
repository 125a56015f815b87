"""Rules on facts that a plan has twice: in the interface and its buffers, in a layer's facts and kernel steps."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.check.expand import Site
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import BufferKind, InterfaceTensor, Kernel, Layer


def check_interface(facts: Facts, log: Log) -> None:
    """Interface tensors are whole buffers of their kind, element type and shape."""
    sides = ((facts.plan.inputs, BufferKind.INPUT), (facts.plan.outputs, BufferKind.OUTPUT))
    for tensors, kind in sides:
        for tensor in tensors:
            _check_tensor(facts, tensor, (kind, BufferKind.STATE), log)
        names = [tensor.identifier for tensor in tensors]
        if len(set(names)) < len(names):
            log.report(Rule.INTERFACE, f"two of one identifier among {', '.join(names)}", f"{kind.value}s")


def _check_tensor(facts: Facts, tensor: InterfaceTensor, kinds: tuple[BufferKind, ...], log: Log) -> None:
    buffer, place = facts.buffers[tensor.buffer], f"interface tensor {tensor.name}"
    if buffer.kind not in kinds:
        log.report(Rule.INTERFACE, f"its buffer {buffer.name} is of kind {buffer.kind.value}", place)
    shape = buffer.shape
    axis = tensor.fed_axis
    if facts.plan.slide is not None and axis is not None and 0 <= axis < min(len(shape), len(tensor.shape)):
        # The caller gives or gets the rows of one run; how many these are is a rule of its own.
        shape = (*shape[:axis], tensor.shape[axis], *shape[axis + 1 :])
    stated, held = (tensor.name, tensor.dtype, tensor.shape), (buffer.tensor, buffer.dtype, shape)
    if stated != held:
        message = f"{tensor.name} {tensor.dtype} {tensor.shape}, its buffer holds {buffer.tensor} {buffer.dtype}"
        log.report(Rule.INTERFACE, f"{message} {buffer.shape}", place)


def check_layer_facts(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """There are facts for each stage, in the program's order, of the kernel that it calls."""
    every = tuple(every)
    stages = [(site, stage) for site in every if isinstance(site.step, Layer) for stage in site.step.stages]
    named = [(layer.name, layer.operator) for layer in facts.plan.layers]
    if named != [(stage.name, stage.operator) for _, stage in stages]:
        log.report(
            Rule.LAYER_FACTS, f"facts of {len(named)} stages, the program has {len(stages)}, or others", "layers"
        )
        return
    symbols = {
        (site.step.name, stage.kernel): layer.symbol or layer.kernel
        for (site, stage), layer in zip(stages, facts.plan.layers, strict=True)
        if isinstance(site.step, Layer)
    }
    for site in every:
        step = site.step
        if not isinstance(step, Kernel):
            continue
        stated = symbols.get((site.layer, step.name))
        if stated is None:
            log.report(Rule.LAYER_FACTS, f"{step.name} belongs to no stage of layer {site.layer}", site.place)
        elif stated != step.symbol:
            log.report(Rule.LAYER_FACTS, f"calls {step.symbol}, the stage's facts say {stated}", site.place)
