"""``tilewright check-elf``: a linked program against the plans of its models."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.cli.plan_file import load_plan
from tilewright.platform import load_platform

if TYPE_CHECKING:
    from tilewright.firmware.findings import Linked, Regions

BUDGETS = ("ram", "flash", "stack", "code", "constants", "instructions")


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    check = commands.add_parser(
        "check-elf", parents=[common], help="prove that a linked program has what its plans say"
    )
    check.add_argument("elf", type=Path, help="the program, with symbols")
    check.add_argument("--plan", type=Path, action="append", required=True, help="plan of a model in it; repeatable")
    check.add_argument("--platform", help="platform whose linker regions the program has; none if absent")
    repeated: dict[str, Any] = {"action": "append", "default": []}
    check.add_argument(
        "--region", **repeated, metavar="POOL=0xBASE:BYTES", help="memory in which a pool must lie; repeatable"
    )
    check.add_argument(
        "--pool-symbol",
        **repeated,
        metavar="[MODEL.]POOL=SYMBOL",
        help="the array that the application passes as a pool; repeatable",
    )
    check.add_argument(
        "--pool-section",
        **repeated,
        metavar="[MODEL.]POOL=SECTION",
        help="the output section of a pool, where the linker script names it otherwise than the plan; repeatable",
    )
    check.add_argument(
        "--allow", **repeated, metavar="NAME", help="a function or variable that the models may use; repeatable"
    )
    check.add_argument(
        "--budget",
        **repeated,
        metavar="WHAT=NUMBER",
        help="the most bytes of ram, flash, stack, code or constants, or instructions of a run; repeatable",
    )
    check.add_argument(
        "--instructions", action="store_true", help="also bound the instructions of a run, for any input (RV32)"
    )
    check.add_argument(
        "--objdump", metavar="PROGRAM", help="program that prints instructions; the one on PATH if absent"
    )
    check.add_argument("--json", type=Path, metavar="FILE.json", help="write the verdict there too, agreeing or not")
    check.set_defaults(run=_check)


def _check(parsed: argparse.Namespace) -> int:
    from tilewright.firmware.check_image import check_image
    from tilewright.firmware.image import read_image
    from tilewright.firmware.verdict_text import verdict_json, verdict_text

    plans = [load_plan(path) for path in parsed.plan]
    image, linked = read_image(parsed.elf), _linked(parsed)
    verdict = check_image(image, plans, linked, parsed.objdump, timed=parsed.instructions)
    if parsed.json is not None:
        write_file(parsed.json, verdict_json(verdict).encode())
    if verdict.findings:
        what = "\n".join(map(str, verdict.findings))
        raise bad_input("firmware", f"the program is not what the plan says:\n{what}", at=str(parsed.elf))
    sys.stdout.write(verdict_text(verdict))
    return 0


def _linked(parsed: argparse.Namespace) -> Linked:
    from tilewright.firmware.findings import Linked

    return Linked(
        regions=_regions(parsed),
        symbols=_pairs("--pool-symbol", parsed.pool_symbol),
        sections=_pairs("--pool-section", parsed.pool_section),
        allowed=frozenset(parsed.allow),
        budget=_budget(parsed.budget),
        core_stack_bytes=_core_stack_bytes(parsed),
    )


def _core_stack_bytes(parsed: argparse.Namespace) -> int:
    stacks = load_platform(parsed.platform).core_stacks if parsed.platform else None
    return stacks.size_bytes if stacks is not None else 0


def _regions(parsed: argparse.Namespace) -> Regions:
    """The platform's regions, with those of the call in the place of others of the same name."""
    from tilewright.firmware.findings import Regions

    spans: dict[str, tuple[int, int]] = {}
    layout = load_platform(parsed.platform).linker if parsed.platform else None
    if layout is not None:
        spans = {region.name: (region.base, region.base + region.size_bytes) for region in layout.regions}
    for name, text in _pairs("--region", parsed.region):
        base, _, size = text.partition(":")
        try:
            begin = int(base, 0)
            spans[name] = begin, begin + int(size, 0)
        except ValueError:
            raise bad_input("bad-option", f"--region {name}={text} is not <pool>=<base>:<bytes>") from None
    return Regions(tuple((name, begin, end) for name, (begin, end) in spans.items()))


def _budget(texts: list[str]) -> tuple[tuple[str, int], ...]:
    found = []
    for name, text in _pairs("--budget", texts):
        if name not in BUDGETS or not text.isdigit():
            known = ", ".join(BUDGETS)
            raise bad_input("bad-option", f"--budget {name}={text} is not <what>=<number>", help=f"one of {known}")
        found.append((name, int(text)))
    return tuple(found)


def _pairs(option: str, texts: list[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise bad_input("bad-option", f"{option} {text} is not <name>=<value>")
        found.append((name, value))
    return tuple(found)
