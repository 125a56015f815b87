"""The text about canaries in a model's source: their table, what the run function does with it, and the accessor."""

from __future__ import annotations

from tilewright.base.c_names import plain_text
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage
from tilewright.codegen.function_text import FunctionText, block
from tilewright.codegen.interface import Signature
from tilewright.codegen.layer_names import layer_names
from tilewright.plan.canaries import Canaries, canaries


@dataclass(frozen=True, slots=True)
class GuardText:
    """C statements around the layers of a run.

    Attributes:
        opening: before the first layer.
        before: before each layer.
        behind: behind each layer.
    """

    opening: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


def guard_text(storage: Storage, passed: str) -> GuardText:
    """The statements for a plan; none without guards. ``passed`` is the C prefix of pools that the caller provides."""
    guards = storage.plan.guards
    if guards is None:
        return GuardText()
    prefix = storage.prefix
    pools = ", ".join(_pool_pointer(storage, pool, passed) for pool in guards.pools)
    record = storage.pool_address(guards.record, f"{passed}{storage.placements[guards.record].pool}")
    what = f"{prefix}_guards, sizeof {prefix}_guards / sizeof {prefix}_guards[0], guarded, (uint32_t)number"
    return GuardText(
        opening=(
            f"uint8_t *const guarded[] = {{{pools}}};",
            f"struct tilewright_spoilt *const spoilt = (struct tilewright_spoilt *)(void *)({record});",
            "*spoilt = (struct tilewright_spoilt){0u, 0u, 0u, 0u};",
        ),
        before=(f"tilewright_guards_set({what});",),
        behind=block(f"if (tilewright_guards_check({what}, spoilt) != 0)", (f"return {prefix.upper()}_CORRUPTED;",)),
    )


def corruption_functions(storage: Storage, signature: Signature) -> tuple[FunctionText, ...]:
    """``<prefix>_corruption`` behind the table of canaries; nothing without guards."""
    guards = storage.plan.guards
    if guards is None:
        return ()
    prefix = storage.prefix
    rows = tuple(f"    {_row(item, guards.pools.index(item.pool))}" for item in canaries(storage.plan))
    table = (f"static const struct tilewright_guard {prefix}_guards[] = {{", *rows, "};", "")
    record = storage.pool_address(guards.record, f"pools->{storage.placements[guards.record].pool}")
    unused = signature.accessor_parameters != "void" and "pools->" not in record
    lines = (
        *(("(void)pools;",) if unused else ()),
        "static const char *const layers[] = {",
        *(f'    "{plain_text(name)}",' for name in layer_names(storage.plan)),
        "};",
        f"return tilewright_guards_told({prefix}_guards, layers, (const void *)({record}));",
    )
    told = f"struct tilewright_corruption {prefix}_corruption({signature.accessor_parameters})"
    return (FunctionText(told, lines, table),)


def _pool_pointer(storage: Storage, pool: str, passed: str) -> str:
    """C expression of a pool's address; NULL for one that holds no buffer."""
    known = {item.name: item for item in (*storage.pools, *storage.pinned_pools)}
    if pool not in known:
        return "NULL"
    if known[pool].base is not None:
        return f"{storage.prefix}_POOL_{pool}_POINTER".upper()
    return f"{storage.prefix}_pool_{pool}" if storage.plan.static_pools else f"{passed}{pool}"


def _row(item: Canaries, pool: int) -> str:
    name = f"pool {item.pool}" if item.buffer is None else item.buffer
    places = f"{item.offset_bytes}u, {item.at}, {item.size_bytes}u"
    return f'{{"{plain_text(name)}", {places}, {pool}u, {item.first}u, {item.last}u}},'
