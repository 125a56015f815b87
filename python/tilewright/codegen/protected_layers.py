"""The text about protected layers in a model's source: the function that calls them, and what a run does around it."""

from __future__ import annotations

from tilewright.base.c_names import constants_object, plain_text
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.interface import Signature
from tilewright.codegen.layer_names import layer_names


@dataclass(frozen=True, slots=True)
class ProtectText:
    """C of protected layers.

    Attributes:
        function: calls one layer, without the right to touch other memory.
        opening: statements before the first layer.
        call: the call of a layer, in place of its direct call; declares ``status``.
    """

    function: FunctionText
    opening: tuple[str, ...]
    call: tuple[str, ...]


def protect_text(
    storage: Storage, signature: Signature, layers: tuple[str, ...], regions: tuple[tuple[str, str, bool], ...]
) -> ProtectText:
    """The text for the functions ``layers``. ``regions`` are address and bytes as C, and whether layers write them."""
    prefix, macro = storage.prefix, storage.prefix.upper()
    arguments = signature.arguments
    members = ", ".join(f"&call.{name}" for name in arguments)
    first = "".join(f"*{name}, " for name in arguments) + (f"{{{members}}}, " if arguments else "")
    rows = (("&call", "sizeof call", False), *regions)
    names = (f'    "{plain_text(name)}",' for name in layer_names(storage.plan))
    return ProtectText(
        function=_function(prefix, layers, arguments),
        opening=(
            "static const char *const names[] = {",
            *names,
            "};",
            f"struct {prefix}_call call = {{{first}0u}};",
            "const struct tilewright_region regions[] = {",
            *(f"    {{(uintptr_t)({address}), {size}, {int(writes)}u}}," for address, size, writes in rows),
            "};",
            "struct tilewright_violation violation = {0};",
        ),
        call=(
            "call.number = (uint32_t)number;",
            f"const int returned = tilewright_protected({prefix}_protected, &call, regions,",
            f"    sizeof regions / sizeof regions[0], {macro}_STACK_BYTES, &violation);",
            *block(
                "if (returned == TILEWRIGHT_VIOLATED)",
                (
                    "violation.layer = names[number];",
                    "tilewright_violated(&violation);",
                    f"return {macro}_VIOLATED;",
                ),
            ),
            *block("if (returned == TILEWRIGHT_NOT_PROTECTED)", (f"return {macro}_DEVICE_FAULT;",)),
            f"const enum {prefix}_status status = (enum {prefix}_status)returned;",
        ),
    )


def _function(prefix: str, layers: tuple[str, ...], arguments: tuple[str, ...]) -> FunctionText:
    context = f"const struct {prefix}_context"
    return FunctionText(
        f"static int {prefix}_protected(void *argument)",
        (
            f"static enum {prefix}_status (*const layers[])({f'{context} *' if arguments else 'void'}) = {{",
            *(f"    {name}," for name in layers),
            "};",
            f"const struct {prefix}_call *call = argument;",
            f"return (int)layers[call->number]({'&call->context' if arguments else ''});",
        ),
        (
            "/* Copies of what the caller passed: layers cannot read the caller's own. */",
            f"struct {prefix}_call {{",
            *(f"    struct {prefix}_{name} {name};" for name in arguments),
            *((f"    struct {prefix}_context context;",) if arguments else ()),
            "    uint32_t number; /* of the layer */",
            "};",
            "",
        ),
    )


def protected_regions(storage: Storage, passed: str) -> tuple[tuple[str, str, bool], ...]:
    """Address and bytes as C of the caller's tensors, of pools and of constants, and whether layers write them.

    ``passed`` is the C prefix of pools that the caller provides.
    """
    plan, macro = storage.plan, storage.prefix.upper()
    found = []
    for kind, tensors in (("input", plan.callers_inputs), ("output", plan.callers_outputs)):
        for item in tensors:
            size = f"{macro}_{kind}_{item.identifier}_SIZE".upper()
            found.append((f"{kind}s->{item.identifier}", size, kind == "output"))
    for pool in (*storage.pools, *storage.pinned_pools):
        address = f"{storage.prefix}_pool_{pool.name}" if plan.static_pools else f"{passed}{pool.name}"
        if pool.base is not None:
            address = f"{macro}_POOL_{pool.name}_POINTER".upper()
        found.append((address, f"{macro}_POOL_{pool.name}_SIZE".upper(), True))
    constants = (constants_object(storage.prefix, pool.name) for pool in storage.constant_pools)
    found += [(f"&{name}", f"sizeof {name}", False) for name in constants]
    return tuple(found)
