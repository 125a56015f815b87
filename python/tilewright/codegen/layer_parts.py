"""Constants and functions before a layer's function; the functions set the shapes of a tile or of a core's part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.codegen.function_text import FunctionText
from tilewright.codegen.kernel_calls import KernelText
from tilewright.codegen.literals import literal, members
from tilewright.codegen.steps import StepText
from tilewright.plan import Kernel


def tile_function(name: str, lines: Sequence[str], axes: Sequence[tuple[int, str, str]]) -> FunctionText:
    """A C function that sets origin and extent of an operand's shape in a tile.

    ``axes`` are (axis, C expressions of its first element and its end) of each axis that varies; ``lines``
    declare the variables in these expressions.
    """
    bounds = (
        line
        for axis, lower, upper in axes
        for line in (f"shape->origin[{axis}] = {lower};", f"shape->extent[{axis}] = {upper} - shape->origin[{axis}];")
    )
    return FunctionText(f"static void {name}(int32_t tile, struct tilewright_shape *shape)", (*lines, *bounds))


def part_functions(steps: Sequence[StepText]) -> Iterator[FunctionText]:
    """Two functions for each split call: one cuts the operands to a core's part, one calls the kernel.

    The second takes the attributes as ``const void *``, as ``struct tilewright_split`` has them.
    """
    for step in steps:
        if isinstance(step, KernelText) and step.split is not None:
            yield FunctionText(f"static void {step.split.name}(struct tilewright_part *part)", step.split.body)
            attributes = f"(const struct {step.struct} *)attributes"
            parameters = "const void *attributes, const struct tilewright_view *operands, uint32_t flags"
            call = f"{step.symbol}({attributes}, operands, flags);"
            yield FunctionText(f"static void {step.split.name}_call({parameters})", (call,))


def attributes_constant(stem: str, kernel: Kernel) -> tuple[str, ...]:
    """Lines that define the kernel's constant attributes; no lines if code assigns the attributes member by member."""
    if kernel.split is not None and members(kernel.attributes):
        return ()
    values = (f"    .{name} = {literal(value)}," for name, value in kernel.attributes)
    return (f"static const struct {kernel.struct} {stem}_attributes = {{", *values, "};")


def home_strides_constants(home_strides: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """For each home of a rectangle copy a line that defines the array of its strides in bytes."""
    for name, strides in home_strides.items():
        yield f"static const int32_t {name}[] = {{{', '.join(map(str, strides))}}};"
