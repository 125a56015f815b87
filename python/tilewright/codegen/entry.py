"""The functions of a model's source beside its layers: the run function, and accessors of inputs, outputs, records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tilewright.base.c_names import constants_object
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.codegen.feeding import FeedText, feeding_functions
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.guard_table import guard_text
from tilewright.codegen.interface import InterfaceText, Required, Signature
from tilewright.codegen.pools import PoolText
from tilewright.codegen.profiling import ProfileText
from tilewright.codegen.protected_layers import ProtectText, protect_text, protected_regions
from tilewright.codegen.window_runs import SlideText, sliding_functions
from tilewright.plan.stages import numbered_layers


@dataclass(frozen=True, slots=True)
class Entry:
    """The facts about a model on which the run function and its helpers depend.

    ``hands_over`` says that some layer hands over a store to the next layer; ``forked`` says that a controller calls
    the model and one of ``cores`` cores runs the layers. ``feed`` is the input that the caller gives row by row,
    ``slide`` the window that slides.
    """

    storage: Storage
    signature: Signature
    constant_pools: tuple[PoolText, ...]
    hands_over: bool
    forked: bool
    cores: int
    feed: FeedText | None = None
    slide: SlideText | None = None

    @property
    def prefix(self) -> str:
        """The model's C name."""
        return self.storage.prefix

    @property
    def macro(self) -> str:
        """The start of the model's macros."""
        return self.prefix.upper()

    @property
    def context(self) -> str:
        """The C type of the struct of the pointers that the caller passes; empty if the caller passes none."""
        return f"const struct {self.prefix}_context" if self.signature.arguments or self.feed else ""

    @property
    def passed(self) -> tuple[tuple[str, str], ...]:
        """C type and name of each object to which a layer's function gets a pointer: context, handover."""
        context = ((self.context, "context"),) if self.context else ()
        return (*context, *((("struct tilewright_handover", "handover"),) if self.hands_over else ()))

    @property
    def layer_parameters(self) -> str:
        """The parameters of a layer's function as C."""
        return ", ".join(f"{c_type} *{name}" for c_type, name in self.passed) or "void"


def entry_functions(entry: Entry, layers: tuple[str, ...]) -> tuple[FunctionText, ...]:
    """The functions behind those of the layers, whose names are ``layers``; the last is the run function."""
    check = (_misaligned(entry.prefix),) if entry.signature.pointers or entry.feed else ()
    if entry.feed is not None:
        checks = (*_argument_checks(entry), *_pool_checks(entry))
        return (*check, *feeding_functions(entry.feed, layers, checks, _all_layers(entry, layers)))
    if entry.slide is not None:
        checks = (*_argument_checks(entry), *_pool_checks(entry))
        return (*check, *sliding_functions(entry.slide, entry.signature, checks, _all_layers(entry, layers)))
    if entry.storage.plan.protected:
        text = protect_text(entry.storage, entry.signature, layers, protected_regions(entry.storage, "pools->"))
        return (*check, text.function, _run(entry, _all_layers(entry, layers, text)))
    if not entry.forked:
        return (*check, _run(entry, _all_layers(entry, layers)))
    return (
        *check,
        FunctionText(
            f"static enum {entry.prefix}_status {entry.prefix}_all_layers({_context_parameter(entry)})",
            _all_layers(entry, layers),
        ),
        _infer(entry),
        _run(entry, _dispatch(entry)),
    )


def opening_lines(entry: Entry, pointer_bytes: int) -> tuple[str, ...]:
    """The lines before the constants: a check of the size of pointers, and the struct of the caller's pointers."""
    lines: list[str] = []
    if pointer_bytes < 8:
        told = f'"scratch has room for pointers of {pointer_bytes} bytes: [core] pointer_bytes"'
        lines += [f"_Static_assert(sizeof(void *) <= {pointer_bytes}, {told});", ""]
    if entry.context:
        members = [f"    const struct {entry.prefix}_{name} *{name};" for name in entry.signature.arguments]
        if entry.feed is not None:
            members += ["    const void *rows; /* that of iteration `from` first */"]
        if entry.feed is not None or entry.slide is not None:
            members += ["    int32_t from;", "    int32_t to;"]
        lines += ["/* What the caller passed. */", f"struct {entry.prefix}_context {{", *members, "};", ""]
    return tuple(lines)


def accessor_functions(
    signature: Signature, accessors: Sequence[InterfaceText], profile: ProfileText | None, prefix: str
) -> tuple[FunctionText, ...]:
    """Functions that return the addresses of a profile's records and of inputs and outputs in pools."""
    parameters = signature.accessor_parameters
    found = []
    if profile is not None:
        returned = f"const struct tilewright_profile *{prefix}_profile({parameters})"
        told = _told(parameters, "const void *", profile.from_caller)
        found.append(FunctionText(returned, told, _profile_layers(profile, prefix)))
    for item in accessors:
        returned = f"{item.c_type} *{item.accessor}({parameters})"
        found.append(FunctionText(returned, _told(parameters, "void *", item.address)))
    return tuple(found)


def _inference_struct(entry: Entry) -> tuple[str, ...]:
    return (
        "/* What the core that was called hands to the one that runs the layers. */",
        f"struct {entry.prefix}_inference {{",
        *((f"    {entry.context} *context;",) if entry.context else ()),
        f"    enum {entry.prefix}_status status;",
        "};",
        "",
    )


def _profile_layers(profile: ProfileText, prefix: str) -> tuple[str, ...]:
    """Names and multiply-accumulates of the layers, in the order of the records."""
    table = f"const struct tilewright_profile_layer {prefix}_profile_layers[{prefix.upper()}_PROFILE_LAYERS] = {{"
    return (table, *(f'    {{"{name}", {macs}u}},' for name, macs in profile.layers), "};", "")


def _told(parameters: str, c_type: str, address: str) -> tuple[str, ...]:
    unused = parameters != "void" and "pools->" not in address
    return (*(("(void)pools;",) if unused else ()), f"return ({c_type})({address});")


def _misaligned(prefix: str) -> FunctionText:
    signature = f"static int {prefix}_is_misaligned(const void *pointer, uintptr_t align)"
    return FunctionText(signature, ("return (uintptr_t)pointer % align != 0u;",))


def _context_parameter(entry: Entry) -> str:
    return f"{entry.context} *context" if entry.context else "void"


def _all_layers(entry: Entry, layers: tuple[str, ...], protect: ProtectText | None = None) -> tuple[str, ...]:
    """Each layer in turn, and the hooks of its stages behind it."""
    stages = [len(item.layer.stages) for item in numbered_layers(entry.storage.plan.program)]
    fault = f"return {entry.macro}_DEVICE_FAULT;"
    guards = guard_text(entry.storage, "context->pools->" if entry.forked else "pools->")
    watched = "" if guards.behind else "TILEWRIGHT_LAYER_IS_WATCHED && "
    awaited = f"{watched}tilewright_copy_wait(handover.link, handover.token) != TILEWRIGHT_PORT_OK"
    each = (
        *block("if (TILEWRIGHT_IS_CANCELLED())", (f"return {entry.macro}_CANCELLED;",)),
        *guards.before,
        *(_call(entry) if protect is None else protect.call),
        *block(f"if (status != {entry.macro}_OK)", ("return status;",)),
        *(block(f"if ({awaited})", (fault,)) if entry.hands_over else ()),
        *guards.behind,
        *_hooks(stages),
    )
    return (
        *(_table(entry, layers) if protect is None else protect.opening),
        *_stage_ends(stages, "0" if entry.feed is None else "number == 0u ? 0u : stage_ends[number - 1u]"),
        *guards.opening,
        *(("struct tilewright_handover handover = {0, TILEWRIGHT_NO_COPY};",) if entry.hands_over else ()),
        *block(_each_layer(entry, "layers" if protect is None else "names"), each),
        f"return {entry.macro}_OK;",
    )


def _table(entry: Entry, layers: tuple[str, ...]) -> tuple[str, ...]:
    types = ", ".join(f"{c_type} *" for c_type, _ in entry.passed) or "void"
    rows = (f"    {name}," for name in layers)
    return (f"static enum {entry.prefix}_status (*const layers[])({types}) = {{", *rows, "};")


def _call(entry: Entry) -> tuple[str, ...]:
    given = ", ".join(
        "context" if (entry.forked or entry.feed or entry.slide) and name == "context" else f"&{name}"
        for _, name in entry.passed
    )
    return (f"const enum {entry.prefix}_status status = layers[number]({given});",)


def _each_layer(entry: Entry, table: str) -> str:
    if entry.feed is not None:
        return "for (; number < end; ++number)"
    return f"for (size_t number = 0; number < sizeof {table} / sizeof {table}[0]; ++number)"


def _stage_ends(stages: Sequence[int], done: str) -> tuple[str, ...]:
    """Declarations for ``_hooks`` if a layer has several stages: the stages done behind each layer, and a counter.

    ``done`` is a C expression of the stages that were done before.
    """
    if all(count == 1 for count in stages):
        return ()
    ends = ", ".join(f"{end}u" for end in accumulate(stages))
    return (f"static const uint32_t stage_ends[] = {{{ends}}};", f"uint32_t stage = {done};")


def _hooks(stages: Sequence[int]) -> tuple[str, ...]:
    if all(count == 1 for count in stages):
        return ("TILEWRIGHT_LAYER_DONE(number);",)
    return block("for (; stage < stage_ends[number]; ++stage)", ("TILEWRIGHT_LAYER_DONE(stage);",))


def _infer(entry: Entry) -> FunctionText:
    """The function with which the core that runs the layers starts."""
    arguments = entry.signature.arguments
    copies: tuple[str, ...] = ()
    if arguments:
        pools = f"const struct {entry.prefix}_pools pools = *inference->context->pools;"
        members = ", ".join("&pools" if name == "pools" else f"inference->context->{name}" for name in arguments)
        copies = (
            "/* Copies on the stack of the core that runs the layers: it reads them for every tile. */",
            *((pools,) if "pools" in arguments else ()),
            f"{entry.context} context = {{{members}}};",
        )
    run = f"inference->status = {entry.prefix}_all_layers({'&context' if arguments else ''});"
    return FunctionText(
        f"static void {entry.prefix}_infer(void *argument)",
        (f"struct {entry.prefix}_inference *inference = argument;", *copies, run),
        _inference_struct(entry),
    )


def _dispatch(entry: Entry) -> tuple[str, ...]:
    context = "&context, " if entry.context else ""
    return (
        f"struct {entry.prefix}_inference inference = {{{context}{entry.macro}_OK}};",
        f"tilewright_dispatch({entry.cores}u, {entry.prefix}_infer, &inference);",
        "return inference.status;",
    )


def _run(entry: Entry, layers: tuple[str, ...]) -> FunctionText:
    arguments = entry.signature.arguments
    is_passed = bool(arguments) and not entry.storage.plan.protected
    context = (f"{entry.context} context = {{{', '.join(arguments)}}};",) if is_passed else ()
    return FunctionText(
        f"enum {entry.prefix}_status {entry.prefix}_run({entry.signature.parameters})",
        (*_weights_check(entry), *_argument_checks(entry), *_pool_checks(entry), *context, *layers),
    )


def _weights_check(entry: Entry) -> tuple[str, ...]:
    if entry.storage.plan.external is None:
        return ()
    return block(f"if ({entry.prefix}_weights == NULL)", (f"return {entry.macro}_NO_WEIGHTS;",))


def _argument_checks(entry: Entry) -> tuple[str, ...]:
    bad = (f"return {entry.macro}_BAD_ARGUMENT;",)
    found = [line for name in entry.signature.arguments for line in block(f"if ({name} == NULL)", bad)]
    for pointer, align in entry.signature.pointers:
        found += block(f"if ({pointer} == NULL)", bad)
        misaligned = f"{entry.prefix}_is_misaligned({pointer}, {align})"
        found += block(f"if ({misaligned})", (f"return {entry.macro}_MISALIGNED;",))
    for required in entry.signature.required:
        elements = required.elements
        if required.link is not None:
            found += _fetched(entry, required, required.link)
            elements = required.name
        for number, value in enumerate(required.values):
            found += block(f"if ({elements}[{number}] != {value})", bad)
    return tuple(found)


def _fetched(entry: Entry, required: Required, link: int) -> tuple[str, ...]:
    """A local copy of elements that the core cannot read where the caller has them."""
    addresses = [f"(tilewright_address_t)(uintptr_t){name}" for name in (required.name, required.elements)]
    start = f"tilewright_copy_start({link}u, {', '.join(addresses)}, 1, sizeof {required.name}, 0, 0)"
    return (
        f"{required.c_type} {required.name}[{len(required.values)}];",
        *block(
            f"if (tilewright_copy_wait({link}u, {start}) != TILEWRIGHT_PORT_OK)",
            (f"return {entry.macro}_DEVICE_FAULT;",),
        ),
    )


def _pool_checks(entry: Entry) -> tuple[str, ...]:
    """Checks that the linker put the constants of a pool with a base address inside that pool."""
    found: list[str] = []
    for pool in entry.constant_pools:
        if pool.base and pool.capacity != "unlimited":
            symbol = constants_object(entry.prefix, pool.name)
            behind = f"(uintptr_t)&{symbol} - {entry.macro}_POOL_{pool.name.upper()}_BASE"
            room = f"{pool.capacity}u - sizeof {symbol}"
            found += block(f"if ({behind} > {room})", (f"return {entry.macro}_MISALIGNED;",))
    return tuple(found)
