"""Rules of code: what a model may call, and which memory it may name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewright.firmware.call_graph import Calls
from tilewright.firmware.findings import Finding, Linked, PlacedPool
from tilewright.firmware.image import Image, Symbol, SymbolKind
from tilewright.plan import Plan, kernel_steps

PORT = frozenset(
    f"tilewright_{name}"
    for name in (
        "copy_start copy_wait fork barrier fork_start fork_join dispatch core_id cycles cache_clean "
        "cache_invalidate idle"
    ).split()
)
"""Functions of tilewright/port.h; rules of the model's code do not apply to the functions below them."""

PROTECTED = "tilewright_protected"
"""The port's function that calls a protected layer; it may have static variables."""

_OF_FLOAT = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax "
    "fmin fmod frexp hypot ldexp llrint log log10 log1p log2 lrint lround modf nearbyint pow rint round scalbn sin "
    "sinh sqrt tan tanh trunc"
).split()
LIBRARY = frozenset(("memcpy", "memmove", "memset", "memcmp", "abs", "labs", *_OF_FLOAT, *(f"{n}f" for n in _OF_FLOAT)))
"""Functions of C libraries that kernels call. What a library calls below them is its own, except for ``FORBIDDEN``."""

_COMPILER = re.compile(
    r"__(aeabi_\w+|riscv_(save|restore)_\d+|gnu_\w+|\w+[sdt]i[234]|\w+[sdht]f[2-4]?\w*|clz_tab|\w+_veneer)"
)
"""Functions of libgcc or compiler-rt, which compilers call for operations without an instruction on the chip."""

FORBIDDEN = frozenset(
    (
        "malloc calloc realloc free aligned_alloc posix_memalign memalign sbrk _sbrk _sbrk_r _malloc_r _calloc_r "
        "_realloc_r _free_r _Znwj _Znaj _Znwm _Znam _ZdlPv _ZdaPv printf fprintf vfprintf sprintf puts setjmp "
        "longjmp exit"
    ).split()
)
"""Functions that nothing below a model may reach: memory at run time, output, jumps out of the call."""


def code_findings(
    image: Image, plan: Plan, calls: Calls, places: list[PlacedPool], linked: Linked
) -> Iterator[Finding]:
    """Everything that is wrong below one function of the model."""
    root = calls.root.name
    for cycle in calls.cycles:
        yield Finding("recursion", cycle[0], None, "no function that calls itself", " calls ".join(cycle))
    for caller, address in calls.lost:
        found = "a call by pointer that no constant of the model answers"
        yield Finding("call-by-pointer", caller.name, address, f"known targets below {root}", found)
    for address, body in sorted(calls.bodies.items()):
        if not body.is_bounded:
            name = next(item.name for item in image.functions if item.address == address)
            found = "a stack pointer that is lowered by an unknown amount"
            yield Finding("stack", name, address, "a frame of known size", found)
    own = _own_functions(plan, calls, linked)
    yield from _wrong_calls(calls, own, linked)
    yield from _wrong_statics(image, plan, calls, own, places, linked)


def _own_functions(plan: Plan, calls: Calls, linked: Linked) -> set[int]:
    """Functions of the model and of kernels that run outside of the port and of libraries, by address.

    A local function belongs to the file of its caller.
    """
    kernels = {step.symbol for step in kernel_steps(plan.program)}
    prefixes = (f"{plan.name}_", "tilewright_")
    own = {calls.root.address}
    grows = True
    while grows:
        before = len(own)
        for edge in calls.edges:
            callee = edge.callee
            is_named = callee.name.startswith(prefixes) or callee.name in kernels or callee.is_local
            if edge.caller.address in own and is_named and callee.name not in PORT:
                own.add(callee.address)
        grows = len(own) > before
    return own


def _wrong_calls(calls: Calls, own: set[int], linked: Linked) -> Iterator[Finding]:
    """Calls by the model's own code of functions that are not listed; calls of ``FORBIDDEN`` outside of the port."""
    outside_port = _outside_port(calls)
    told = set()
    for edge in calls.edges:
        callee = edge.callee.name
        if callee in told or callee in linked.allowed:
            continue
        is_forbidden = callee in FORBIDDEN and edge.caller.address in outside_port
        is_foreign = edge.caller.address in own and edge.callee.address not in own and not _is_listed(callee)
        if is_forbidden or is_foreign:
            told.add(callee)
            found = f"a call by {edge.caller.name} at {edge.address:#x}"
            yield Finding("library", callee, edge.callee.address, "no call of it", found)


def _outside_port(calls: Calls) -> set[int]:
    """Functions that are reached without going through the port."""
    found = {calls.root.address}
    waiting = [calls.root.address]
    while waiting:
        caller = waiting.pop()
        for edge in calls.edges:
            callee = edge.callee
            if edge.caller.address == caller and callee.address not in found and callee.name not in PORT:
                found.add(callee.address)
                waiting.append(callee.address)
    return found


def _of_protection(calls: Calls) -> set[int]:
    """Functions of the port between ``PROTECTED`` and the layers, which are called by pointer."""
    found = {edge.callee.address for edge in calls.edges if edge.callee.name == PROTECTED}
    grows = bool(found)
    while grows:
        direct = {edge.callee.address for edge in calls.edges if edge.caller.address in found and not edge.by_pointer}
        grows = not direct <= found
        found |= direct
    return found


def code_spans(calls: Calls) -> Iterator[tuple[int, int]]:
    """(address, bytes) of each function outside of the port, and of the read-only objects that they name."""
    sizes = {edge.callee.address: edge.callee.size_bytes for edge in calls.edges}
    sizes[calls.root.address] = calls.root.size_bytes
    for address in _outside_port(calls):
        yield address, sizes[address]
        yield from calls.named.get(address, ())


def _is_listed(name: str) -> bool:
    return name in PORT or name in LIBRARY or _COMPILER.fullmatch(name) is not None


def _wrong_statics(
    image: Image, plan: Plan, calls: Calls, own: set[int], places: list[PlacedPool], linked: Linked
) -> Iterator[Finding]:
    """Writable objects, outside of the plan's pools, that code of the model names."""
    told = set()
    for address in sorted((own - _of_protection(calls)) & set(calls.bodies)):
        for touched in sorted(calls.bodies[address].touched):
            section = image.section_at(touched)
            if section is None or not section.is_writable or section.is_code or _in_pool(touched, plan, places):
                continue
            symbol = _object_at(image, touched)
            if symbol is None or symbol.name in told or symbol.name in linked.allowed or _is_weights(symbol, plan):
                continue
            caller = next(item for item in image.functions if item.address == address)
            if _is_of_another_file(symbol, caller):
                continue
            told.add(symbol.name)
            found = f"a writable object of {symbol.size_bytes:,} bytes that {caller.name} uses"
            yield Finding("static", symbol.name, symbol.address, "no writable object outside of pools", found)


def _is_of_another_file(symbol: Symbol, function: Symbol) -> bool:
    """Whether an object is local to another source file, so that a function cannot name it.

    Such an address is computed all the same: for an index that leads back into an object of the function's own file.
    """
    return bool(symbol.file and function.file and symbol.file != function.file)


def _is_weights(symbol: Symbol, plan: Plan) -> bool:
    """Whether the object is the pointer to a file of constants."""
    return plan.external is not None and symbol.name.partition(".")[0] == f"{plan.name}_weights"


def _in_pool(address: int, plan: Plan, places: list[PlacedPool]) -> bool:
    return any(place.address <= address < place.address + place.size_bytes for place in places)


def _object_at(image: Image, address: int) -> Symbol | None:
    objects = (item for item in image.symbols if item.kind is SymbolKind.OBJECT and item.section.is_allocated)
    return next((item for item in objects if item.address <= address < item.end), None)
