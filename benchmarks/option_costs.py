"""What options that keep a model cost: bytes of flash, RAM and stack, and instructions, of the digits example.

    python benchmarks/option_costs.py [--page FILE.md]

Each option's program is linked and run in QEMU beside one without it, on random images of one seed, compiled as the
CMake functions do without a build type. Bytes are those of the linked programs and the stack is the proved one, as
`tilewright check-elf` says them. Prints the table of docs/how-to/ship-it.md; --page writes it there.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.linked import EXAMPLE, link_model
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import Artifacts, compile_model
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

RV32, V7, V8 = "qemu-virt-rv32-single", "mps2-an385-single", "cortex-m33"
PLACES = {RV32: "RV32", V7: "Cortex-M3", V8: "Cortex-M33"}
MAIN = """
#include <stdio.h>
#include <tilewright/port.h>
#include "m.h"
#include "m_layout.h"
/* Of whole parts of memory protection, whatever its kind. */
static _Alignas(256) uint8_t in[256], out[256];
#define EACH(lines) {{ const uint32_t begin = tilewright_cycles(); lines; taken = tilewright_cycles() - begin; }}
{before}
int main(void)
{{
    const struct m_inputs inputs = {{(const void *)in}};
    const struct m_outputs outputs = {{(void *)out}};
    uint32_t seed = 1, taken = 0;
    int status = 0;
    {first}
    for (int i = 0; i < 5; ++i) {{
        for (unsigned at = 0; at < 64; ++at) {{
            seed = seed * 1664525u + 1013904223u;
            in[at] = (uint8_t)(seed >> 24);
        }}
        EACH(status |= (int)m_run(&inputs, &outputs))
        printf("run %d %u\\n", status, (unsigned)taken);
    }}
    return status;
}}
"""
SET = "EACH(status |= (int)m_set_weights(weights, sizeof weights))"
CHECK = "struct tilewright_check check = {0}; EACH(status |= (int)m_check_constants(&check, 0))"
ONCE = ' printf("once %d %u\\n", status, (unsigned)taken);'


@dataclass(frozen=True)
class Option:
    """A row of the table: its name, its platform, the keys of CompileOptions, and what the program does once."""

    name: str
    platform: str
    keys: tuple[tuple[str, Any], ...]
    once: str = ""


OPTIONS = (
    Option("CHECK_CONSTANTS", RV32, (("check_constants", True),), CHECK),
    *(Option("GUARDS", platform, (("guards", True),)) for platform in PLACES),
    *(Option("PROTECT", platform, (("protect", True),)) for platform in PLACES),
    Option("WEIGHTS external", RV32, (("weights", Weights.EXTERNAL),), SET),
    Option("PROFILE", RV32, (("profile", True),)),
)


@dataclass(frozen=True)
class Measured:
    """Of one program: bytes of flash without constants, of constants, RAM without stack, stack, pools; instructions
    of the slowest run, and of what was done once."""

    flash: int
    constants: int
    ram: int
    stack: int
    pools: int
    run: int
    once: int


def measured(option: Option | None, platform: str = RV32) -> Measured:
    """What a program takes with an option, or without any."""
    keys = dict(option.keys) if option else {}
    options = CompileOptions(EXAMPLE, platform, "m", static_pools=True, quantized_io=True)
    artifacts = compile_model(replace(options, **keys))
    once = option.once if option else ""
    weights = artifacts.files.get("m_weights.bin", b"")
    array = f"static _Alignas(64) const uint8_t weights[] = {{{', '.join(map(str, weights))}}};" if weights else ""
    with tempfile.TemporaryDirectory() as folder:
        main = MAIN.format(before=array, first=once + ONCE if once else "")
        return _measured(link_model(Path(folder), artifacts, main, as_library=True), artifacts, len(weights))


def _measured(program: Path, artifacts: Artifacts, file_bytes: int) -> Measured:
    verdict = check_image(read_image(program), [artifacts.plan], Linked())
    assert verdict.findings == (), verdict.findings
    printed: list[str] = []
    assert simulate(load_platform(artifacts.plan.platform), program, 120, (), printed.append) == 0
    counts: dict[str, int] = {}
    for line in printed:
        what, status, count = line.split()
        assert status == "0"
        counts[what] = max(int(count), counts.get(what, 0))
    memory = verdict.memory
    # The profile's counters are printed by nobody here; its table is the caller's.
    return Measured(
        flash=memory.flash - memory.constants - file_bytes,
        constants=memory.constants + file_bytes,
        ram=memory.ram - memory.stack,
        stack=memory.stack,
        pools=memory.pools,
        run=counts["run"],
        once=counts.get("once", 0),
    )


def rows() -> Iterator[str]:
    """Lines of the table."""
    plain = {platform: measured(None, platform) for platform in PLACES}
    yield "| option | core | flash | RAM | stack | instructions |"
    yield "|---|---|--:|--:|--:|---|"
    yield "| `tilewright_check_firmware`, BUDGET, `tilewright evidence` | any | 0 | 0 | 0 | 0: they run on the host |"
    for option in OPTIONS:
        yield _row(option, measured(option, option.platform), plain[option.platform])


def _row(option: Option, got: Measured, plain: Measured) -> str:
    flash = f"{got.flash - plain.flash:+,}"
    if got.constants != plain.constants:
        flash += f", and a file of {got.constants:,} in the place of {plain.constants:,} of constants"
    ram = f"{got.ram - plain.ram:+,}"
    if got.pools != plain.pools:
        ram += f" (the pool takes {got.pools:,} instead of {plain.pools:,})"
    more = got.run - plain.run
    time = f"{more:+,} in a run of {plain.run:,} ({100 * more / plain.run:+.2f} %)"
    if got.once:
        time += f"; {got.once:,} for all constants" + (" once" if "set" in option.once else ", at a time of your own")
    return f"| {option.name} | {PLACES[option.platform]} | {flash} | {ram} | {got.stack - plain.stack:+,} | {time} |"


def written(page: str, table: str) -> str:
    """A page with the table between its two comments."""
    marks = "(<!-- option costs -->\n).*?(<!-- end of option costs -->)"
    assert len(re.findall(marks, page, re.DOTALL)) == 1
    return re.sub(marks, lambda found: f"{found[1]}{table}{found[2]}", page, flags=re.DOTALL)


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    table = "\n".join(rows()) + "\n"
    if given.page is not None:
        given.page.write_text(written(given.page.read_text(encoding="utf-8"), table), encoding="utf-8")
    print(table, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
