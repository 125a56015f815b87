"""What stands before a layer's function: constants, and functions that set what a tile or a core's part changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.codegen.calls import KernelText
from tilewright.codegen.functions import FunctionText
from tilewright.codegen.literals import literal, members
from tilewright.codegen.steps import StepText
from tilewright.plan import Kernel


def tile_function(name: str, lines: Sequence[str], axes: Sequence[tuple[int, str, str]]) -> FunctionText:
    """Sets what a tile changes in an operand's shape: (axis, lower, upper) of each axis that varies."""
    bounds = (
        line
        for axis, lower, upper in axes
        for line in (f"shape->origin[{axis}] = {lower};", f"shape->extent[{axis}] = {upper} - shape->origin[{axis}];")
    )
    return FunctionText(f"static void {name}(int32_t tile, struct tilewright_shape *shape)", (*lines, *bounds))


def part_functions(steps: Sequence[StepText]) -> Iterator[FunctionText]:
    """Of a split call: what cuts the operands down to a core's part, and the call with untyped attributes."""
    for step in steps:
        if isinstance(step, KernelText) and step.split is not None:
            yield FunctionText(f"static void {step.split.name}(struct tilewright_part *part)", step.split.body)
            attributes = f"(const struct {step.struct} *)attributes"
            parameters = "const void *attributes, const struct tilewright_view *operands, uint32_t flags"
            call = f"{step.symbol}({attributes}, operands, flags);"
            yield FunctionText(f"static void {step.split.name}_call({parameters})", (call,))


def attributes_constant(stem: str, kernel: Kernel) -> tuple[str, ...]:
    """The kernel's constant attributes; none where code assigns them, member by member."""
    if kernel.split is not None and members(kernel.attributes):
        return ()
    values = (f"    .{name} = {literal(value)}," for name, value in kernel.attributes)
    return (f"static const struct {kernel.struct} {stem}_attributes = {{", *values, "};")


def home_strides_constants(home_strides: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """Strides in bytes of homes that rectangles are copied from or to, an array each."""
    for name, strides in home_strides.items():
        yield f"static const int32_t {name}[] = {{{', '.join(map(str, strides))}}};"
