"""Constants in a file beside the program: its bytes, and the C that reads it.

Before:  static const struct digits_flash_constants = {...};  attributes = {.shift = 7, .pack = tilewright_pack_signed}
After:   digits_weights.bin: 64 bytes of header, the pool, the words {7}; digits_weights points to it
         attributes = {.pack = tilewright_pack_signed}; tilewright_weights_read(&attributes.shift, weights + n, 4)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from zlib import crc32

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Array, Storage
from tilewright.codegen.function_text import FunctionText, block
from tilewright.plan import AttributeValue, Kernel, Plan, kernel_steps
from tilewright.plan.layout_hash import layout_hash

HEADER_BYTES = 64
"""TILEWRIGHT_WEIGHTS_HEADER of runtime/include/tilewright/weights.h."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers that lie side by side in a struct of attributes: the first one's name, and where the file has them."""

    field: str
    at_bytes: int
    size_bytes: int


def numbers_of(plan: Plan) -> dict[str, tuple[Numbers, ...]]:
    """For each kernel step, by its name, the numbers of its attributes in the file."""
    assert plan.external is not None
    at, found = _pool_end(plan, plan.external.pool), {}
    for step in kernel_steps(plan.program):
        runs = []
        for field, count in _runs(step):
            runs.append(Numbers(field, at, 4 * count))
            at += 4 * count
        assert step.name not in found, f"two kernel steps are called {step.name}"
        found[step.name] = tuple(runs)
    return found


def file_bytes(plan: Plan) -> int:
    """Bytes of the file."""
    last = [run for runs in numbers_of(plan).values() for run in runs][-1:]
    assert plan.external is not None
    return last[0].at_bytes + last[0].size_bytes if last else _pool_end(plan, plan.external.pool)


def weights_file(plan: Plan, constants: Mapping[str, Array]) -> bytes:
    """The file; ``constants`` maps the sha256 of each constant buffer to its elements in memory order."""
    assert plan.external is not None
    content = bytearray(file_bytes(plan) - HEADER_BYTES)
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    for place in plan.placements:
        digest = buffers[place.buffer].sha256
        if place.pool == plan.external.pool and digest is not None:
            data = constants[digest].tobytes()
            content[place.offset_bytes : place.offset_bytes + len(data)] = data
    words = b"".join(_word(value) for step in kernel_steps(plan.program) for value in _numbers(step))
    content[len(content) - len(words) :] = words
    layout, model = bytes.fromhex(layout_hash(plan)), bytes.fromhex(plan.model_sha256)
    head = struct.pack("<8sII8s32sI", b"TWweight", _FORMAT, HEADER_BYTES + len(content), layout, model, crc32(content))
    return head + struct.pack("<I", crc32(head)) + bytes(content)


def weights_opening(storage: Storage) -> tuple[str, ...]:
    """The pointer to the file; nothing where constants are in the program."""
    if storage.plan.external is None:
        return ()
    return ("/* The file that the caller set. */", f"static const uint8_t *{storage.prefix}_weights;", "")


def set_weights_function(storage: Storage) -> tuple[FunctionText, ...]:
    """``<prefix>_set_weights``; nothing where constants are in the program."""
    plan, macro = storage.plan, storage.prefix.upper()
    if plan.external is None:
        return ()
    layout = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(layout_hash(plan)))
    lines = (
        f"static const uint8_t layout[8] = {{{layout}}};",
        *block("if (address == NULL)", (f"return {macro}_BAD_ARGUMENT;",)),
        *block(f"if ((uintptr_t)address % {macro}_WEIGHTS_ALIGN != 0u)", (f"return {macro}_MISALIGNED;",)),
        *block(
            f"if (!tilewright_weights_fit(address, bytes, layout, {macro}_WEIGHTS_SIZE))",
            (f"return {macro}_BAD_WEIGHTS;",),
        ),
        f"{storage.prefix}_weights = address;",
        f"return {macro}_OK;",
    )
    told = f"enum {storage.prefix}_status {storage.prefix}_set_weights(const void *address, uint32_t bytes)"
    return (FunctionText(told, lines),)


def fixed_attributes(stem: str, kernel: Kernel) -> tuple[str, ...]:
    """Lines that define what of a kernel's attributes is no number; no lines if all are numbers."""
    values = [f"    .{name} = {value}," for name, value in kernel.attributes if isinstance(value, str)]
    if not values:
        return ()
    return (f"static const struct {kernel.struct} {stem}_fixed = {{", *values, "};")


def read_attributes(stem: str, kernel: Kernel, numbers: tuple[Numbers, ...], prefix: str) -> tuple[str, ...]:
    """Lines in a layer's function that put a kernel's attributes together."""
    kind, name = f"struct {kernel.struct}", f"{stem}_attributes"
    names = any(isinstance(value, str) for _, value in kernel.attributes)
    return (
        f"{kind} {name}{f' = {stem}_fixed' if names else ''};",
        *(
            f"tilewright_weights_read((uint8_t *)&{name} + offsetof({kind}, {run.field}), "
            f"{prefix}_weights + {run.at_bytes}u, {run.size_bytes}u);"
            for run in numbers
        ),
    )


def _pool_end(plan: Plan, pool: str) -> int:
    used = next(use.used_bytes for use in plan.pool_use if use.pool == pool)
    return HEADER_BYTES + -(-used // 4) * 4


def _runs(step: Kernel) -> Iterator[tuple[str, int]]:
    """(First field, numbers) of each row of fields without a pointer between."""
    first, count = "", 0
    for name, value in step.attributes:
        if isinstance(value, str):
            if count:
                yield first, count
            count = 0
            continue
        first = first if count else name
        count += len(value) if isinstance(value, tuple) else 1
    if count:
        yield first, count


def _numbers(step: Kernel) -> Iterator[float]:
    for _, value in step.attributes:
        if isinstance(value, tuple):
            yield from value
        elif not isinstance(value, str):
            yield value


def _word(value: AttributeValue) -> bytes:
    if isinstance(value, float):
        return struct.pack("<f", value)
    assert isinstance(value, int)
    return struct.pack("<I", value & 0xFFFFFFFF)
