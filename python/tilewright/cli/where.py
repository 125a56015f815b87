"""``tilewright where``: what lives at an address, and when."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input, suggestion
from tilewright.cli.plan_file import load_plan
from tilewright.plan import Plan, Pool
from tilewright.plan.stages import stages_of


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    where = commands.add_parser(
        "where", parents=[common], help="name the buffers at an address, and the layers at which they live"
    )
    where.add_argument("plan", type=Path, help="a plan, <name>_plan.json")
    where.add_argument("address", help="an address, or <pool>:<offset>; decimal, or hexadecimal behind 0x")
    where.add_argument("--step", metavar="N|LAYER", help="only what lives while this layer runs")
    where.add_argument(
        "--base", action="append", default=[], metavar="POOL=ADDRESS", help="address at which a pool begins; repeatable"
    )
    where.add_argument("--elf", type=Path, help="program whose symbols tell where pools begin")
    where.add_argument("--format", choices=["text", "json"], default="text", help="for people or for programs")
    where.set_defaults(run=_where)


def _where(parsed: argparse.Namespace) -> int:
    from tilewright.report.where import where_data, where_text

    plan = load_plan(parsed.plan)
    pool, offset, address = _place(plan, parsed)
    data = where_data(plan, pool, offset, _step(plan, parsed.step))
    if parsed.format == "json":
        sys.stdout.write(json.dumps({**data, "address": address}, indent=1) + "\n")
    else:
        sys.stdout.write(where_text(data, address))
    return 0


def _symbols(program: Path | None) -> dict[str, int]:
    from tilewright.firmware.elf_file import symbol_addresses

    return {} if program is None else symbol_addresses(program)


def _place(plan: Plan, parsed: argparse.Namespace) -> tuple[Pool, int, int | None]:
    """Pool and offset, and the address if one was given."""
    name, separator, offset = parsed.address.rpartition(":")
    if separator:
        return _pool(plan, name), _number(offset, "address"), None
    address = _number(parsed.address, "address")
    bases = pool_bases(plan, _given(plan, parsed.base), _symbols(parsed.elf))
    used = {use.pool: use.used_bytes for use in plan.pool_use}
    for pool in plan.pools:
        if pool.name in bases and 0 <= address - bases[pool.name] < used.get(pool.name, 0):
            return pool, address - bases[pool.name], address
    ranges = [f"{name} [0x{base:x}, 0x{base + used.get(name, 0):x})" for name, base in bases.items()]
    missing = [pool.name for pool in plan.pools if used.get(pool.name) and pool.name not in bases]
    remedies = [f"give the base of {name}: --base {name}=0x..., or --elf <program>" for name in missing]
    known = ", ".join(ranges) or "none is"
    raise bad_input(
        "where-outside", f"0x{address:x} lies in no pool whose base is known ({known})", help=tuple(remedies)
    )


def pool_bases(plan: Plan, given: Mapping[str, int], symbols: Mapping[str, int]) -> dict[str, int]:
    """Where pools begin: as the user says, else by the program's symbols, else as the plan has it.

    Generated code defines <prefix>_pool_<pool> (STATIC_POOLS), and for constants <prefix>_<pool> or, where a
    model has that name, the same; golden tests define pool_<pool>.
    """
    bases = {}
    for pool in plan.pools:
        names = (f"{plan.name}_pool_{pool.name}", f"{plan.name}_{pool.name}", f"pool_{pool.name}")
        known = [given.get(pool.name), *(symbols.get(name) for name in names), pool.base]
        base = next((item for item in known if item is not None), None)
        if base is not None:
            bases[pool.name] = base
    return bases


def _given(plan: Plan, texts: list[str]) -> dict[str, int]:
    bases = {}
    for text in texts:
        name, separator, address = text.partition("=")
        if not separator:
            raise bad_input("usage", f"'{text}' is not <pool>=<address>", at="--base")
        bases[_pool(plan, name).name] = _number(address, "--base")
    return bases


def _pool(plan: Plan, name: str) -> Pool:
    for pool in plan.pools:
        if pool.name == name:
            return pool
    names = [pool.name for pool in plan.pools]
    raise bad_input("unknown-pool", f"plan '{plan.name}' has no pool '{name}'", help=suggestion(name, names))


def _number(text: str, where: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        raise bad_input("usage", f"'{text}' is no address", at=where, help="for example 0x80401230, or l1:4656")
    return value


def _step(plan: Plan, text: str | None) -> int | None:
    """The number of a layer, from its number, its label or its name."""
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    names = [stage.name for stage in stages_of(plan.program)]
    labels = [layer.label for layer in plan.layers]
    if text in labels:
        return labels.index(text)
    if text in names:
        return names.index(text)
    raise bad_input("where-step", f"plan '{plan.name}' has no layer '{text}'", help=suggestion(text, names))
